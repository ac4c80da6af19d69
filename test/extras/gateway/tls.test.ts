import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import https, { type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { exchange } from "../../helpers/http/server.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { storeUrl, uniquePrefix } from "../../helpers/store/run-store.ts";
import { removeKeys } from "../../helpers/store/scan.ts";
import { ROOT } from "../../shared/root.ts";

/** A certificate for localhost that signs itself, valid for a hundred years, and its key. */
const CERTIFICATE = path.join(ROOT, "test/fixtures/tls/localhost.crt");
const KEY = path.join(ROOT, "test/fixtures/tls/localhost.key");

describe("a gateway to an HTTPS API", function () {
  this.timeout(60_000);
  const prefix = uniquePrefix();
  const processes: ServerProcess[] = [];
  const arrived: string[] = [];
  let upstream: Server;
  let handlers: string;
  before(async () => {
    upstream = https.createServer({ cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) }, (req, res) => {
      arrived.push(`${req.method} ${req.url} ${req.headers.host}`);
      req.resume().once("end", () => res.end("over TLS"));
    });
    upstream.listen(0, "localhost");
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    handlers = await mkdtemp(path.join(tmpdir(), "paihao-gateway-"));
    await writeFile(
      path.join(handlers, "gateways.ts"),
      `import { defineGateway } from "paihao";
       export const named = defineGateway({ queue: "named", target: "https://localhost:${port}/base", attempts: 1 });
       export const other = defineGateway({ queue: "other", target: "https://127.0.0.1:${port}", attempts: 1 });`,
    );
  });
  afterEach(() => endProcesses(processes));
  after(async () => {
    upstream.close();
    await rm(handlers, { recursive: true });
    await removeKeys(storeUrl(), prefix);
  });
  const start = async (env: Readonly<Record<string, string>>) => {
    const server = await startProcess({ KEY_PREFIX: prefix, PORT: "0", HANDLERS: handlers, ...env });
    processes.push(server);
    return (at: string, method = "GET") =>
      exchange(new URL(at, server.url), { method, ...(method === "POST" && { body: "x" }) });
  };

  it("forwards, even a POST, if the certificate is trusted and names the target", async () => {
    const send = await start({ NODE_EXTRA_CA_CERTS: CERTIFICATE });
    for (const method of ["GET", "POST"]) {
      const answer = await send("/v1/gateway/named/a?b=1", method);
      expect([answer.status, answer.text], method).to.deep.equal([200, "over TLS"]);
    }
    const { port } = upstream.address() as AddressInfo;
    expect(arrived).to.deep.equal([`GET /base/a?b=1 localhost:${port}`, `POST /base/a?b=1 localhost:${port}`]);

    // The same certificate for another name.
    const refused = await send("/v1/gateway/other/a");
    expect([refused.status, refused.json.mayHaveBeenCarriedOut]).to.deep.equal([502, false]);
    expect(arrived).to.have.length(2);
  });

  it("sends nothing if the certificate is not trusted", async () => {
    const send = await start({ NODE_EXTRA_CA_CERTS: "" });
    const before = arrived.length;
    for (const method of ["GET", "POST"]) {
      const answer = await send("/v1/gateway/named/a", method);
      expect([answer.status, answer.json.mayHaveBeenCarriedOut], method).to.deep.equal([502, false]);
    }
    expect(arrived).to.have.length(before);
  });
});
