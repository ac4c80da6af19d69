import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const ASYNC = { Prefer: "respond-async" };

describe("fair lines over HTTP (API: Fair lines)", () => {
  let server: TestServer;
  const keys = testKeys({ ann: ["submit"], bob: ["submit"], root: ["admin"] });
  before(async () => {
    server = await startServer(keys.env);
  });
  after(() => server.stop());
  const submit = async (name: "ann" | "bob", queue: string, body: unknown, search = "") => {
    const answer = await server.send(`/v1/queues/${queue}/requests${search}`, {
      method: "POST",
      headers: keys.as(name, ASYNC),
      body,
    });
    return answer;
  };
  const admin = (path: string, method = "GET") => server.send(path, { method, headers: keys.as("root") });
  const pausing = async (queue: string, work: () => Promise<void>) => {
    await admin(`/v1/queues/${queue}/pause`, "POST");
    await work().finally(() => admin(`/v1/queues/${queue}/resume`, "POST"));
  };

  it("let callers take turns, with exact places that may rise; the queue says so", async () => {
    const gate = closedGate();
    const first = (await submit("ann", "fair-callers", gate.input)).json.id;
    await gate.entered;
    const open = closedGate();
    open.open("done");
    const anns: string[] = [];
    for (let n = 0; n < 5; n += 1) anns.push((await submit("ann", "fair-callers", open.input)).json.id);
    const second = (await admin(`/v1/requests/${anns[1]}/status`)).json.index;
    const bob = (await submit("bob", "fair-callers", open.input)).json;
    expect(bob.index).to.be.at.most(1);
    expect((await admin(`/v1/requests/${anns[1]}/status`)).json.index).to.equal(second + 1);
    const { json } = await admin("/v1/queues/fair-callers");
    expect(json).to.include({ order: "fair", waiting: 6 });
    expect((await admin("/v1/queues/gated")).json.order).to.equal("arrival");
    const page = (await admin("/v1/queues/fair-callers/waiting")).json.items;
    expect(page.map((task: { index: number }) => task.index)).to.deep.equal([0, 1, 2, 3, 4, 5]);
    expect(page.findIndex((task: { id: string }) => task.id === bob.id)).to.equal(bob.index);
    gate.open("done");
    expect(first).to.be.a("string");
  });

  it("take the key from the validated input and the task, and its weight, in batches and PUT too", async () => {
    await pausing("fair-tenants", async () => {
      const places = async (tenant: unknown, count: number) => {
        const body = Array.from({ length: count }, () => `${JSON.stringify({ tenant })}\n`).join("");
        const verdicts = await server.batch("fair-tenants", body, "", keys.as("ann"));
        return verdicts.map(({ index }) => index);
      };
      expect(await places("light", 4)).to.deep.equal([0, 1, 2, 3]);
      expect(await places("heavy", 4), "three for each of the other's").to.deep.equal([1, 2, 3, 5]);
      expect((await submit("bob", "fair-tenants", { tenant: "weightless" })).json.index).to.equal(2);
      expect((await submit("bob", "fair-tenants", { tenant: "n", n: "5" }, "?of=7")).status).to.equal(202);
      const put = () =>
        server.send("/v1/queues/fair-tenants/requests/put-1", {
          method: "PUT",
          headers: keys.as("ann", ASYNC),
          body: { tenant: "put" },
        });
      const { index } = (await put()).json;
      expect((await put()).json.index).to.equal(index);
      const replaced = await server.send("/v1/queues/fair-tenants/requests/put-1", {
        method: "PUT",
        headers: keys.as("ann", ASYNC),
        body: { tenant: "another" },
      });
      expect(replaced).to.include({ status: 200 });
      expect(replaced.json.index, "a new input keeps the place").to.equal(index);
    });
  });
});
