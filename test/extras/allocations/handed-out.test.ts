import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

describe("allocated ids without a task", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAX_WAITING: "3" });
    await server.send("/v1/queues/default/pause", { method: "POST" });
  });
  after(() => server.stop());

  const allocate = () => server.send("/api/v1/task");
  const submit = (headers = {}) => server.post("default", {}, { Prefer: "respond-async", ...headers });
  const ask = (id: string, method: string, body?: unknown) => server.send(`/api/v1/task/${id}`, { method, body });

  it("count towards MAX_WAITING: beyond it, neither ids nor tasks are accepted", async () => {
    const ids: string[] = [(await allocate()).json.id, (await allocate()).json.id];
    const waiting = await submit();
    expect(waiting.status).to.equal(202);
    for (const refused of [await allocate(), await submit()]) {
      expect([refused.status, refused.json.type]).to.deep.equal([503, "/problems/queue-full"]);
      expect(refused.json).to.include({ queue: "default", waiting: 1, scheduled: 0 });
    }
    // Each allocated id can be used: at once, in any order, with either method, and repeatedly.
    const tasks = await Promise.all(ids.map((id, n) => ask(id, n === 0 ? "POST" : "PUT", {})));
    expect(tasks.map(({ status }) => status)).to.deep.equal([202, 202]);
    expect((await ask(ids[0] ?? "", "POST", {})).status).to.equal(202);
    expect((await allocate()).status).to.equal(503);
    expect((await submit({ "X-Request-Id": waiting.json.id })).status, "a repetition").to.equal(202);

    // A task that ends makes room, and so does an id that is returned.
    await server.send(`/v1/requests/${waiting.json.id}`, { method: "DELETE" });
    const { id } = (await allocate()).json;
    expect((await submit()).status).to.equal(503);
    expect((await ask(id, "DELETE")).status).to.equal(204);
    expect((await submit()).status).to.equal(202);
    expect((await server.send("/api/v1/task?queue=answers")).status, "another queue").to.equal(200);
  });

  it("count towards the rate limit like any request", async () => {
    const keys = testKeys({ ann: ["submit"] });
    const limited = await startServer({ ...keys.env, RATE_LIMIT: "2/1h" });
    try {
      const statuses: number[] = [];
      for (let n = 0; n < 3; n += 1) {
        statuses.push((await limited.send("/api/v1/task", { headers: keys.as("ann") })).status);
      }
      expect(statuses).to.deep.equal([200, 200, 429]);
    } finally {
      await limited.stop();
    }
  });

  it("belong to their caller: unknown to others, read-only for readers", async () => {
    const keys = testKeys({ ann: ["submit"], bob: ["submit"], watch: ["read"], root: ["admin"] });
    const guarded = await startServer(keys.env);
    const ask = (caller: Parameters<typeof keys.as>[0], method: string, at: string, body?: unknown) =>
      guarded.send(at, { method, headers: keys.as(caller), body });
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
    await guarded.stop();
  });
});
