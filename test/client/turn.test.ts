import { expect } from "chai";
import { PaihaoClient, type Status, TaskCanceled, TaskFailed } from "paihao/client";
import type { Handler } from "../../src/handler/define.ts";
import { defineTurns } from "../../src/handler/turns.ts";
import { deferred } from "../helpers/deferred.ts";
import { judgeFetched } from "../helpers/http/fetched.ts";
import { type HttpProxy, startHttpProxy } from "../helpers/http/http-proxy.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { failure } from "./failure.ts";

describe("a turn that the client takes", () => {
  let server: TestServer;
  let proxy: HttpProxy;
  let client: PaihaoClient;
  judgeFetched();
  before(async () => {
    const queues = [{ queue: "gpu" }, { queue: "desks", slots: 2 }, { queue: "brief", longest: "1s" }];
    const handlers = queues.map((options) => [options.queue, defineTurns(options) as Handler] as const);
    server = await startServer({}, { handlers: new Map(handlers) });
  });
  beforeEach(async () => {
    proxy = await startHttpProxy(server.url);
    client = new PaihaoClient({ url: proxy.url });
  });
  afterEach(() => proxy.stop());
  after(() => server.stop());

  const enough = new Error("enough");
  const stateOf = async (id: string): Promise<string> => (await server.send(`/v1/requests/${id}/status`)).json.state;
  const giveUp = (id: string) => server.send(`/v1/requests/${id}`, { method: "DELETE" });
  /** Takes a turn by hand; its holder is there for as long as a test lasts. */
  const held = () => server.enqueue("gpu", null, "?presence=1m");
  const sent = (method: string, part: string) =>
    proxy.seen.filter((request) => request.method === method && request.url.includes(part));
  /** A turn, and work that lasts until it is told to end. */
  const working = (options: Parameters<typeof client.turn>[2] = {}, queue = "gpu") => {
    const called = deferred<Parameters<Parameters<typeof client.turn>[1]>[0]>();
    const work = deferred<unknown>();
    const taking = client.turn(
      queue,
      (turn) => {
        called.resolve(turn);
        return work.promise;
      },
      options,
    );
    return { called: called.promise, work, taking };
  };
  /** Resolves when the signal has fired. */
  const fired = async (signal: AbortSignal) => void (await eventually(() => signal.aborted));

  it("tells what the work needs, and resolves to what it returns, which is the result", async () => {
    const turn = { id: "", fence: 0 };
    const value = await client.turn(
      "gpu",
      ({ id, fence, since, until, endsAt, signal }) => {
        Object.assign(turn, { id, fence });
        expect(Date.parse(until ?? "") - Date.parse(since)).to.be.within(28_000, 32_000);
        expect([endsAt, signal.aborted]).to.deep.equal([null, false]);
        return { sum: 42 };
      },
      { label: "training", input: { epochs: 3 } },
    );
    expect(value).to.deep.equal({ sum: 42 });
    expect(turn.fence).to.be.above(0);
    expect(await client.result(turn.id)).to.deep.equal({ sum: 42 });
    expect(await client.status(turn.id)).to.include({ state: "succeeded", label: "training" });
  });

  it("leaves no result where the work returns nothing", async () => {
    let id = "";
    expect(
      await client.turn("gpu", (turn) => {
        id = turn.id;
      }),
    ).to.equal(undefined);
    expect((await server.send(`/v1/requests/${id}`)).status).to.equal(204);
  });

  it("comes in order, to one at a time, and tells the place meanwhile", async () => {
    const places: (number | null)[] = [];
    const order: string[] = [];
    const holder = await held();
    const take = (name: string, onUpdate: (status: Status) => void = () => undefined) =>
      client.turn(
        "gpu",
        async () => {
          order.push(`${name} enters`);
          await new Promise(setImmediate);
          order.push(`${name} leaves`);
        },
        { id: `in-order-${name}`, onUpdate },
      );
    const turns = [];
    for (const name of ["first", "second", "third"]) {
      turns.push(take(name, ({ index, state }) => name === "third" && state === "waiting" && places.push(index)));
      await eventually(async () => (await server.send("/v1/queues/gpu")).json.waiting === turns.length);
    }
    await eventually(() => places.length > 0);
    await giveUp(holder);
    await Promise.all(turns);
    expect(order).to.deep.equal(["first", "second", "third"].flatMap((name) => [`${name} enters`, `${name} leaves`]));
    expect(places[0]).to.equal(2);
    expect([...places].sort().reverse()).to.deep.equal(places);
  });

  it("is given up when the work throws, and the error is thrown on", async () => {
    const { called, work, taking } = working();
    const { id } = await called;
    work.reject(enough);
    expect(await failure(taking)).to.equal(enough);
    await server.until(id, "canceled");
  });

  it("is given up when what the work returns cannot be sent", async () => {
    const { called, work, taking } = working();
    const { id } = await called;
    work.resolve(1n);
    expect(await failure(taking)).to.be.instanceOf(TypeError);
    await server.until(id, "canceled");
  });

  it("leaves the line when the signal fires", async () => {
    const holder = await held();
    const abort = new AbortController();
    const { taking } = working({ id: "leaves", signal: abort.signal, onUpdate: () => abort.abort(enough) });
    expect(await failure(taking)).to.equal(enough);
    await server.until("leaves", "canceled");
    expect(await stateOf(holder)).to.equal("running");
    await giveUp(holder);
  });

  it("is given up without any work when the signal fires as it comes", async () => {
    const abort = new AbortController();
    const onUpdate = ({ state }: Status) => state === "running" && abort.abort(enough);
    const taking = client.turn("gpu", () => expect.fail("worked"), {
      ...{ id: "too-late", signal: abort.signal },
      onUpdate: (status) => void onUpdate(status),
    });
    expect(await failure(taking)).to.equal(enough);
    await server.until("too-late", "canceled");
  });

  it("is given up when the signal fires, but not before the work has settled", async () => {
    const abort = new AbortController();
    const { called, work, taking } = working({ signal: abort.signal });
    const { id, signal } = await called;
    abort.abort(enough);
    expect(signal.reason).to.equal(enough);
    expect(await stateOf(id)).to.equal("running");
    work.resolve("in time");
    expect(await failure(taking)).to.equal(enough);
    await server.until(id, "canceled");
  });

  it("is lost when somebody cancels it: its signal fires, and the call rejects after the work", async () => {
    const { called, work, taking } = working();
    const { id, signal } = await called;
    await giveUp(id);
    await fired(signal);
    expect(signal.reason).to.be.instanceOf(TaskCanceled);
    work.reject(enough);
    expect(await failure(taking)).to.equal(signal.reason);
  });

  it("is lost when it has lasted as long as it may", async () => {
    const { called, work, taking } = working({}, "brief");
    const { signal, endsAt } = await called;
    expect(endsAt).to.be.a("string");
    await fired(signal);
    work.resolve("too late");
    expect(await failure(taking))
      .to.be.instanceOf(TaskFailed)
      .with.property("code", "task-timeout");
  });

  it("is lost when somebody else says that it is over, and when its task is deleted", async () => {
    for (const isDeleted of [false, true]) {
      const { called, work, taking } = working();
      const { id, signal } = await called;
      await server.send(`/v1/requests/${id}/done`, { method: "POST" });
      if (isDeleted) await giveUp(id);
      await fired(signal);
      work.resolve("mine");
      expect(await failure(taking)).to.equal(signal.reason);
      expect(String(signal.reason)).to.match(/There is no turn|deleted/);
    }
  });

  it("is lost when it ends before the end of the work is told", async () => {
    const gone = deferred<void>();
    proxy.treat(({ method, url }) =>
      method === "POST" && url.includes("/done") ? { lateAfter: gone.promise } : "pass",
    );
    const { called, work, taking } = working();
    const { id } = await called;
    work.resolve("late");
    await eventually(() => sent("POST", "/done").length === 1);
    await giveUp(id);
    gone.resolve();
    expect(await failure(taking)).to.be.instanceOf(TaskCanceled);
  });

  it("ends once, however often the answer to that is lost", async () => {
    let lost = 0;
    proxy.treat(({ method, url }) => (method === "POST" && url.includes("/done") && lost++ < 3 ? "lose" : "pass"));
    const { called, work, taking } = working();
    const { id } = await called;
    work.resolve(["a", "b"]);
    expect(await taking).to.deep.equal(["a", "b"]);
    expect(sent("POST", "/done")).to.have.length(4);
    expect(await client.result(id)).to.deep.equal(["a", "b"]);
  });

  it("is submitted once, however often the answer to that is lost", async () => {
    let lost = 0;
    proxy.treat(({ method }) => (method === "PUT" && lost++ < 2 ? "lose" : "pass"));
    expect(await client.turn("gpu", ({ id }) => id)).to.be.a("string");
    expect(new Set(sent("PUT", "/requests/").map(({ url }) => url)).size).to.equal(1);
    expect((await server.send("/v1/queues/gpu")).json).to.include({ running: 0, waiting: 0 });
  });

  it("outlasts its presence by the looks of the client: events, or polls where a proxy refuses them", async () => {
    proxy.treat(({ url }) => (url.endsWith("/by-polls/events") ? { status: 502 } : "pass"));
    await Promise.all(
      ["by-events", "by-polls"].map(async (id) => {
        const { called, work, taking } = working({ id, presence: "5s" }, "desks");
        const { since, signal } = await called;
        await eventually(() => Date.now() - Date.parse(since) > 7000);
        expect([signal.aborted, await stateOf(id)]).to.deep.equal([false, "running"]);
        work.resolve(id);
        expect(await taking).to.equal(id);
      }),
    );
  });

  it("goes on while the server cannot be reached, for longer than requests are tried, and is kept", async () => {
    client = new PaihaoClient({ url: proxy.url, attempts: 1 });
    const { called, work, taking } = working();
    const { id, signal } = await called;
    await eventually(() => proxy.open.some(({ url }) => url.endsWith("/events")));
    proxy.treat(() => "reset");
    proxy.cut("/events");
    await eventually(() => sent("GET", "/status").length >= 3);
    proxy.treat(() => "pass");
    const before = proxy.seen.length;
    await eventually(() => proxy.open.some(({ url }) => /events|status/.test(url)) && proxy.seen.length > before);
    expect([signal.aborted, await stateOf(id)]).to.deep.equal([false, "running"]);
    work.resolve("done");
    expect(await taking).to.equal("done");
  });

  it("was lost meanwhile, if the server says so when it is back", async () => {
    const { called, work, taking } = working();
    const { id, signal } = await called;
    proxy.treat(() => "reset");
    proxy.cut("/events");
    await giveUp(id);
    await eventually(() => sent("GET", "/status").length >= 2);
    expect(signal.aborted).to.equal(false);
    proxy.treat(() => "pass");
    await fired(signal);
    expect(signal.reason).to.be.instanceOf(TaskCanceled);
    work.resolve("unheard");
    expect(await failure(taking)).to.equal(signal.reason);
  });

  it("needs a queue that takes it", async () => {
    expect(await failure(client.turn("unknown", () => 1))).to.have.property("code", "unknown-queue");
    expect(await failure(client.turn("gpu", () => 1, { id: "../x" }))).to.be.instanceOf(TypeError);
  });
});
