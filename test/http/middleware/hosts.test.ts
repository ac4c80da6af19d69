import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { raw, rawAnswer } from "../../helpers/http/raw.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const SOMEWHERE = ["evil.example", "evil.example:3000", "127.0.0.1.evil.example", "10.0.0.7", "[::2]", "localhost."];

describe("the Host of a request", () => {
  const servers: TestServer[] = [];
  const begin = async (env: Record<string, string> = {}) => {
    const server = await startServer(env);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
  });

  const under = (server: TestServer, Host: string, at = "/v1/queues", method = "GET") =>
    server.send(at, { method, headers: { Host } });

  it("must be a name of this machine if there are no keys, against DNS rebinding", async () => {
    const server = await begin();
    for (const Host of SOMEWHERE) {
      const answer = await under(server, Host);
      expect([answer.status, answer.json.type], Host).to.deep.equal([421, "/problems/wrong-host"]);
    }
    for (const Host of ["localhost", "LOCALHOST:99", "127.0.0.1", "127.0.0.1:3000", "[::1]", "[::1]:3000"]) {
      expect((await under(server, Host)).status, Host).to.equal(200);
    }
  });

  it("must be a name of this machine on any other address too; an address is one, since it cannot be rebound", async () => {
    const server = await begin({ HOST: "0.0.0.0", AUTH: "none" });
    for (const Host of [
      "evil.example",
      "evil.example:3000",
      "10.0.0.7.evil.example",
      "localhost.",
      "10.0.0",
      "[::g]",
    ]) {
      const answer = await under(server, Host);
      expect([answer.status, answer.json.type], Host).to.deep.equal([421, "/problems/wrong-host"]);
      expect(answer.json.detail, Host).to.contain("ALLOWED_HOSTS");
      expect((await under(server, Host, "/metrics")).status, Host).to.equal(421);
      expect((await under(server, Host, "/v1/requests", "POST")).status, Host).to.equal(421);
    }
    expect((await under(server, "tasks.example:80")).json.detail).to.contain("tasks.example ");
    for (const Host of ["localhost:3000", "10.0.0.7:3000", "192.168.1.2", "[fd00::7]:3000", "[::ffff:10.0.0.7]"]) {
      expect((await under(server, Host)).status, Host).to.equal(200);
    }
    // Health tells a page nothing, and probes may use any name.
    for (const at of ["/healthz", "/readyz"]) expect((await under(server, "paihao.svc", at)).status, at).to.equal(200);
  });

  it("is that of an absolute target as well, which takes precedence (RFC 9112 §3.2.2)", async () => {
    const server = await begin();
    const status = async (target: string, host: string) =>
      rawAnswer(await raw(server.url, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status;
    expect(await status("http://localhost/v1/queues", "localhost")).to.equal(200);
    expect(await status("http://evil.example/v1/queues", "localhost")).to.equal(421);
    expect(await status("HTTP://evil.example:80/v1/queues", "localhost")).to.equal(421);
    expect(await status("http://localhost/v1/queues", "evil.example")).to.equal(421);
  });

  it("is checked for every path, including pages, events, metrics and unknown ones", async () => {
    const server = await begin();
    const id = await server.enqueue("default", {});
    const paths = ["/", "/healthz", "/readyz", "/metrics", "/docs", "/dashboard", "/openapi.json", "/nowhere"];
    for (const at of [...paths, `/v1/requests/${id}`, `/v1/requests/${id}/status`, `/v1/requests/${id}/events`]) {
      expect((await under(server, "evil.example", at)).status, at).to.equal(421);
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
      expect((await under(server, "evil.example", "/v1/requests", method)).status, method).to.equal(421);
    }
  });

  it("is not taken from forwarding headers, which such a page could send itself", async () => {
    const server = await begin({ TRUST_PROXY: "true" });
    const headers = { Host: "evil.example", "X-Forwarded-Host": "localhost" };
    expect((await server.send("/v1/queues", { headers })).status).to.equal(421);
  });

  it("can be one of ALLOWED_HOSTS", async () => {
    for (const env of [{}, { HOST: "0.0.0.0", AUTH: "none" }]) {
      const server = await begin({ ...env, ALLOWED_HOSTS: "tasks.example, Bücher.example,10.0.0.7" });
      for (const Host of ["tasks.example", "TASKS.example:8443", "xn--bcher-kva.example", "10.0.0.7:1", "localhost"]) {
        expect((await under(server, Host)).status, Host).to.equal(200);
      }
      expect((await under(server, "a.tasks.example")).status).to.equal(421);
    }
  });

  it("can be anything if there are keys, unless ALLOWED_HOSTS is set; probes often know only an address", async () => {
    const keys = testKeys({ ann: ["submit"] });
    const any = await begin(keys.env);
    for (const Host of SOMEWHERE) {
      expect((await any.send("/v1/queues", { headers: keys.as("ann", { Host }) })).status, Host).to.equal(200);
    }
    const some = await begin({ ...keys.env, ALLOWED_HOSTS: "tasks.example" });
    const statuses = async (Host: string) => {
      const headers = keys.as("ann", { Host });
      const answers = ["/v1/queues", "/openapi.json", "/healthz", "/readyz"].map((at) => some.send(at, { headers }));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await statuses("tasks.example")).to.deep.equal([200, 200, 200, 200]);
    expect(await statuses("10.1.2.3:3000")).to.deep.equal([421, 421, 200, 200]);
  });
});
