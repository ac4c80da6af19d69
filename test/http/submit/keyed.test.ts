import { expect } from "chai";
import { closedGate, type Gate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const ASYNC = { Prefer: "respond-async" };
const PATH = "/v1/queues/keyed";

describe("keyed work over HTTP (API: Keyed work)", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const send = (method: string, path: string, body?: unknown) =>
    server.send(path, { method, headers: ASYNC, ...(body !== undefined && { body }) });
  const submit = async (account: unknown, gate?: Gate, search = "") =>
    (await send("POST", `${PATH}/requests${search}`, { account, ...gate?.input })).json.id as string;
  const monitor = async (id: string) => (await server.send(`/v1/requests/${id}/status`)).json;
  const result = async (id: string) => await server.send(`/v1/requests/${id}/status?onPending=synchronous`);
  const pausing = async (work: () => Promise<void>) => {
    await send("POST", `${PATH}/pause`);
    await work().finally(() => send("POST", `${PATH}/resume`));
  };

  it("runs one task of a key at a time, in order, and lets others pass; the document says which are held", async () => {
    const [first, second] = [closedGate(), closedGate()];
    const a1 = await submit("a", first);
    await first.entered;
    const a2 = await submit("a", second);
    const a3 = await submit("a");
    const due = await submit("a", undefined, "?delay=3600");
    const free = await submit(null);
    expect((await result(await submit("b"))).json.state).to.equal("succeeded");
    expect((await result(free)).json.state).to.equal("succeeded");
    expect(await monitor(a1)).to.include({ state: "running", held: false });
    expect(await monitor(a2)).to.include({ state: "waiting", held: true, index: 0 });
    expect(await monitor(a3)).to.include({ state: "waiting", held: true, index: 1 });
    expect(await monitor(due)).to.include({ state: "scheduled", held: true });
    const page = (await server.send(`${PATH}/waiting`)).json.items;
    expect(page.map(({ id }: { id: string }) => id)).to.deep.equal([a2, a3]);
    first.open("done");
    await second.entered;
    expect(await monitor(a3)).to.include({ held: true, index: 0 });
    second.open("done");
    expect((await result(a3)).json).to.include({ state: "succeeded", held: false });
  });

  it("uses the key of a replaced input at the old place, and takes keys from batches and allocated ids", async () => {
    const gate = closedGate();
    await submit("c", gate);
    await gate.entered;
    const put = (account: string | null) => send("PUT", `${PATH}/requests/put-1`, { account });
    const before = (await put("c")).json;
    const behind = await submit("c");
    expect(await monitor("put-1")).to.include({ held: true, index: before.index });
    expect((await put("d")).status).to.equal(200);
    expect((await result("put-1")).json.state).to.equal("succeeded");
    const lines = '{"account":"c"}\n{"account":"broken"}\n{"account":null}\n';
    const [held, bad, free] = await server.batch("keyed", lines);
    expect(bad.problem).to.include({ type: "/problems/invalid-input" });
    expect((await result(free.id)).json.state).to.equal("succeeded");
    expect((await monitor(held.id)).held).to.equal(true);
    const { id } = (await server.send("/api/v1/task?queue=keyed")).json;
    await send("POST", `/api/v1/task/${id}`, { account: "c" });
    expect((await monitor(id)).held).to.equal(true);
    gate.open("done");
    for (const one of [behind, held.id, id]) expect((await result(one)).json.state).to.equal("succeeded");
  });

  it("refuses an input without a key: 400 invalid-input, nothing stored, the error only in the log", async () => {
    await pausing(async () => {
      const waiting = async () => (await server.send(PATH)).json.waiting;
      const before = await waiting();
      for (const account of ["broken", "later", 7, undefined, "x".repeat(257), "ü".repeat(129)]) {
        const answer = await send("POST", `${PATH}/requests`, { account });
        expect(answer.status, String(account)).to.equal(400);
        expect(answer.json).to.include({ type: "/problems/invalid-input", status: 400 });
        expect(answer.text).to.not.include("secret");
      }
      expect((await send("PUT", `${PATH}/requests/put-bad`, { account: "broken" })).status).to.equal(400);
      expect((await server.send("/v1/requests/put-bad")).json.type).to.equal("/problems/unknown");
      expect(await waiting()).to.equal(before);
      const logged = server.log.filter((line) => JSON.stringify(line).includes("secret of the handler"));
      expect(logged.length).to.be.at.least(2);
      for (const account of ["x".repeat(256), "", "two words", "ключ\n\u0000"]) {
        expect((await send("POST", `${PATH}/requests`, { account })).status).to.equal(202);
      }
    });
  });
});
