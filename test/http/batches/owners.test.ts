import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { verdictsOf } from "../../helpers/http/batch.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("batches and allocated ids on a server with keys", () => {
  const keys = testKeys({ ann: ["submit"], bob: ["submit"], watch: ["read"], root: ["admin"] });
  let server: TestServer;
  before(async () => {
    server = await startServer({ ...keys.env, URL_SIGNING_KEY: "a-key-of-at-least-thirty-two-characters" });
  });
  after(() => server.stop());

  type Caller = "ann" | "bob" | "watch" | "root";
  const ask = (caller: Caller, method: string, path: string, body?: unknown) =>
    server.send(path, { method, headers: keys.as(caller), body });
  const batch = async (caller: Caller, lines: string) => {
    const headers = keys.as(caller, { "Content-Type": "application/x-ndjson" });
    const answer = await server.send("/v1/queues/default/batches?envelope=true", {
      method: "POST",
      headers,
      body: lines,
    });
    return { ...answer, verdicts: answer.status === 202 ? verdictsOf(answer.text) : [] };
  };

  it("the tasks of a batch belong to its caller, and have links that read them without a key", async () => {
    const line = '{"id":"of-ann","input":1,"delay":3600}';
    const { verdicts } = await batch("ann", line);
    expect(verdicts[0].href).to.match(/^\/v1\/requests\/of-ann\?expires=\d+&signature=[\w-]+$/);
    expect((await server.send(verdicts[0].href)).json).to.include({ type: "/problems/pending", id: "of-ann" });
    expect((await server.send("/v1/requests/of-ann")).status).to.equal(401);
    expect((await ask("bob", "GET", "/v1/requests/of-ann")).json.type).to.equal("/problems/unknown");
    expect((await ask("ann", "GET", "/v1/requests/of-ann")).json.type).to.equal("/problems/pending");
    // The response does not even reveal whether the input is the same.
    const { problem } = (await batch("bob", line)).verdicts[0];
    expect(problem).to.deep.include({ type: "/problems/id-conflict" }).and.not.have.property("id");
    expect((await batch("watch", line)).status).to.equal(403);
  });

  it("an allocated id belongs to its caller: it is unknown to others, and read-only for readers", async () => {
    const { id } = (await ask("ann", "GET", "/api/v1/task")).json;
    const path = `/api/v1/task/${id}`;
    for (const method of ["GET", "POST", "PUT", "DELETE"]) {
      const answer = await ask("bob", method, path, method === "GET" || method === "DELETE" ? undefined : {});
      expect([answer.status, answer.json.type], method).to.deep.equal([404, "/problems/unknown"]);
    }
    expect((await ask("watch", "GET", path)).json.status).to.equal("allocated");
    expect((await ask("watch", "POST", path, {})).status).to.equal(403);
    expect((await ask("root", "POST", path, {})).json.type).to.equal("/problems/unknown");
    expect((await ask("ann", "POST", `${path}?delay=3600`, { n: 1 })).status).to.equal(202);
    expect((await ask("bob", "GET", path)).json.type).to.equal("/problems/unknown");
    expect((await ask("root", "PUT", path, { n: 2 })).json.type).to.equal("/problems/id-conflict");
    expect((await ask("watch", "GET", path)).status).to.equal(202);
    expect((await ask("root", "DELETE", path)).status).to.equal(204);
    expect((await ask("ann", "GET", path)).json).to.include({ type: "/problems/invalid-task", reason: "canceled" });
  });
});
