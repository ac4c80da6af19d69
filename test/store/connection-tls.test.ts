import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { TlsFiles } from "../../src/config/redis-url.ts";
import { StartError } from "../../src/errors.ts";
import { identityOf } from "../../src/store/connection.ts";
import { ROOT } from "../shared/root.ts";

const at = (name: string) => path.join(ROOT, "test/fixtures/tls", name);
const [CERT, KEY] = [at("localhost.crt"), at("localhost.key")];

describe("the TLS files of a connection to the store", () => {
  const tlsOptions = (tls: TlsFiles) => identityOf({ login: {}, tls }).tls;
  const refused = (files: TlsFiles, reason: RegExp) => expect(() => tlsOptions(files)).to.throw(StartError, reason);

  it("are read, as far as there are any", () => {
    const [cert, key] = [CERT, KEY].map((file) => readFileSync(file, "utf8"));
    expect(tlsOptions({})).to.deep.equal({});
    expect(tlsOptions({ ca: CERT })).to.deep.equal({ ca: cert });
    expect(tlsOptions({ cert: CERT, key: KEY })).to.deep.equal({ cert, key });
  });

  it("are refused if they cannot be read or hold something else, and the error names the file", () => {
    refused({ ca: at("missing.crt") }, /missing\.crt, which cannot be read: ENOENT/);
    refused({ ca: KEY }, /localhost\.key, which REDIS_URL names, is not a certificate/);
    refused({ cert: KEY, key: KEY }, /localhost\.key, which REDIS_URL names, is not a certificate/);
    refused({ cert: CERT, key: CERT }, /localhost\.crt, which REDIS_URL names, is not a private key/);
  });

  it("are refused if the key belongs to another certificate", () => {
    const dir = mkdtempSync(path.join(tmpdir(), "paihao-tls-"));
    try {
      const other = path.join(dir, "other.key");
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
      writeFileSync(other, privateKey.export({ type: "pkcs8", format: "pem" }));
      refused({ cert: CERT, key: other }, /other\.key does not belong to the certificate .*localhost\.crt$/);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
