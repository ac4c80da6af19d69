import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { Redis } from "ioredis";
import { startServer } from "../helpers/http/server.ts";
import { expectStartError } from "../helpers/start-error.ts";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { type PrivateRedis, startRedis } from "../shared/redis-server.ts";
import { needsRedisServer } from "./needs.ts";
import { startSentinels } from "./sentinel.ts";

/** An authority, and certificates for a server on this machine and for a client, signed by it. */
function makeCertificates(dir: string): void {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: dir, stdio: "pipe" });
  const elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  writeFileSync(path.join(dir, "san"), "subjectAltName=IP:127.0.0.1\n");
  for (const name of ["ca", "other"]) {
    openssl("req", "-x509", ...elliptic, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.crt`);
  }
  for (const name of ["server", "client"]) {
    openssl("req", ...elliptic, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    const signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "san"];
    openssl("x509", "-req", "-in", `${name}.csr`, ...signed, "-out", `${name}.crt`);
  }
}

describe("a Redis that demands certificates", function () {
  this.timeout(120_000);
  let dir: string;
  let redis: PrivateRedis;
  let port: number;
  before(async function () {
    await needsRedisServer(this);
    dir = mkdtempSync(path.join(tmpdir(), "paihao tls-"));
    try {
      makeCertificates(dir);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") this.skip();
      throw error;
    }
    port = await reservePort();
    redis = await startRedis({ args: ["--tls-port", String(port), "--tls-auth-clients", "yes", ...files()] });
  });
  after(async () => {
    await redis?.stop();
    if (dir !== undefined) rmSync(dir, { recursive: true });
  });

  const at = (name: string) => path.join(dir, name);
  const files = () => [
    ...["--tls-cert-file", at("server.crt"), "--tls-key-file", at("server.key"), "--tls-ca-cert-file", at("ca.crt")],
  ];
  const urlOf = (files: Readonly<Record<string, string>>) => {
    const options = Object.entries(files).map(([name, file]) => `${name}=${encodeURIComponent(at(file))}`);
    return `rediss://127.0.0.1:${port}?${options.join("&")}`;
  };
  const refused = (files: Readonly<Record<string, string>>, reason: RegExp) =>
    expectStartError(startServer({ REDIS_URL: urlOf(files) }), reason);
  const client = { ca: "ca.crt", cert: "client.crt", key: "client.key" };

  it("is used with an authority and a client's certificate", async () => {
    const server = await startServer({ REDIS_URL: urlOf(client) });
    try {
      expect((await server.post("default", 1)).status).to.equal(200);
    } finally {
      await server.stop();
    }
  });

  it("may be a node of a cluster", async () => {
    const [own, bus] = [await reservePort(), await reservePort()];
    const cluster = [
      ...["--cluster-enabled", "yes", "--cluster-port", String(bus), "--cluster-announce-ip", "127.0.0.1"],
      ...["--tls-cluster", "yes", "--tls-port", String(own)],
    ];
    const node = await startRedis({ args: [...cluster, "--tls-auth-clients", "yes", ...files()] });
    const admin = new Redis(node.port, "127.0.0.1");
    try {
      await admin.call("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
      await eventually(async () => /cluster_state:ok/.test(await admin.cluster("INFO")));
      const url = urlOf(client).replace("rediss:", "rediss+cluster:").replace(String(port), String(own));
      const server = await startServer({ REDIS_URL: url });
      try {
        expect((await server.post("default", 1)).status).to.equal(200);
      } finally {
        await server.stop({ keep: true });
      }
    } finally {
      admin.disconnect();
      await node.stop("SIGKILL");
    }
  });

  it("is not used when another authority has signed its certificate, or it demands a client's", async () => {
    await refused(
      { ...client, ca: "other.crt" },
      /no connection with the store at 127\.0\.0\.1:\d+ over TLS: .*certificate/,
    );
    await refused({ ca: "ca.crt" }, /the store at 127\.0\.0\.1:\d+ over TLS/);
  });

  it("needs existing PEM files, and the key of the certificate", async () => {
    await refused({ ca: "none.crt" }, /REDIS_URL names .*none\.crt, which cannot be read: ENOENT/);
    await refused({ ca: "san" }, /san, which REDIS_URL names, is not a certificate in PEM/);
    await refused({ ...client, key: "san" }, /san, which REDIS_URL names, is not a private key in PEM/);
    await refused(
      { ...client, key: "server.key" },
      /the key .*server\.key does not belong to the certificate .*client\.crt/,
    );
    await refused({ ca: "ca.crt", cert: "client.crt" }, /certificate and its key belong together/);
  });
});

describe("sentinels with a password of their own", function () {
  this.timeout(120_000);

  it("are asked with it, and a server without it says what is missing", async function () {
    await needsRedisServer(this);
    const sentinels = await startSentinels({ password: "of+sentinels" });
    try {
      const server = await startServer({ REDIS_URL: `${sentinels.url}?sentinel_password=of%2Bsentinels` });
      try {
        expect((await server.post("default", 1)).status).to.equal(200);
      } finally {
        await server.stop();
      }
      for (const url of [sentinels.url, `${sentinels.url}?sentinel_password=wrong`]) {
        await expectStartError(
          startServer({ REDIS_URL: url }),
          /check sentinel_username and sentinel_password in REDIS_URL$/,
        );
      }
    } finally {
      await sentinels.stop();
    }
  });
});
