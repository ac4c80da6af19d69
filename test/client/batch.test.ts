import { expect } from "chai";
import { PaihaoClient, type Verdict } from "paihao/client";
import { deferred } from "../helpers/deferred.ts";
import { keptMb } from "../helpers/heap.ts";
import { failure } from "./failure.ts";
import { proxiedClient } from "./proxied-client.ts";

describe("a batch of the client", () => {
  const to = proxiedClient();

  const all = async (verdicts: AsyncIterable<Verdict>) => {
    const list: Verdict[] = [];
    for await (const verdict of verdicts) list.push(verdict);
    return list;
  };

  it("gives a verdict for each input, in order, even if one is bad", async () => {
    const inputs = Array.from({ length: 1200 }, (_, n) => ({ name: n === 700 ? "" : `n${n}` }));
    const verdicts = await all(to.client.batch("greet", inputs, { query: { lang: "en" }, priority: 5 }));
    expect(verdicts.map(({ line }) => line)).to.deep.equal(inputs.map((_, n) => n));
    const bad = verdicts.filter(({ problem }) => problem);
    expect(bad).to.have.length(1);
    expect(bad[0]).to.have.property("line", 700);
    expect(bad[0]?.problem?.errors?.[0]?.pointer).to.equal("#/name");
    const last = verdicts.at(-1);
    if (!last || last.problem) throw new Error("refused");
    expect(await to.client.result(last.id)).to.deep.include({ greeting: "Hello, n1199", query: { lang: "en" } });
    expect(to.proxy.seen.filter(({ url }) => url.includes("/batches"))).to.have.length(3);
    expect(await all(to.client.batch("greet", []))).to.deep.equal([]);
  });

  it("is submitted as its inputs come", async () => {
    const more = deferred<void>();
    async function* inputs() {
      yield { name: "first" };
      await more.promise;
      yield { name: "second" };
    }
    const verdicts = to.client.batch("greet", inputs());
    const first = await verdicts.next();
    expect(first.value).to.have.property("line", 0);
    more.resolve();
    expect((await verdicts.next()).value).to.have.property("line", 1);
    expect((await verdicts.next()).done).to.equal(true);
  });

  it("sends inputs without a verdict again, and runs nothing twice", async () => {
    const before = (await to.server.send("/v1/queues/nothing/finished")).json.items.length;
    let sent = 0;
    to.proxy.treat(({ url }) => {
      if (!url.includes("/batches")) return "pass";
      sent += 1;
      return sent === 1 ? "lose" : sent === 2 ? "break" : "pass";
    });
    const verdicts = await all(to.client.batch("nothing", Array(100).fill(null)));
    expect(sent).to.equal(3);
    const ids = verdicts.map((verdict) => (verdict.problem ? "" : verdict.id));
    expect(new Set(ids).size).to.equal(100);
    for (const id of ids) await to.client.result(id);
    const after = (await to.server.send("/v1/queues/nothing/finished?limit=200")).json.items.length;
    expect(after - before).to.equal(100);
  });

  it("throws if the queue refuses all inputs, and stops with its reader and its signal", async () => {
    const untyped = new PaihaoClient({ url: to.server.url });
    expect(await failure(all(untyped.batch("no-such-queue", [1])))).to.include({ code: "unknown-queue" });
    let given = 0;
    let closed = false;
    function* endless() {
      try {
        for (;;) yield { name: `n${given++}` };
      } finally {
        closed = true;
      }
    }
    for await (const { line } of to.client.batch("greet", endless())) if (line === 3) break;
    expect(closed).to.equal(true);
    expect(given).to.be.below(1100);
    const abort = new AbortController();
    const aborted = to.client.batch("greet", endless(), { signal: abort.signal });
    await aborted.next();
    abort.abort(new Error("enough"));
    expect(String(await failure(all(aborted)))).to.equal("Error: enough");
  });

  it("ends with the error of its inputs, also if that comes while others are sent", async () => {
    const sending = deferred<void>();
    to.proxy.treat(({ url }) => {
      if (url.includes("/batches")) sending.resolve();
      return "pass";
    });
    async function* inputs() {
      // As many as are sent at once.
      for (let n = 0; n < 500; n += 1) yield { name: `n${n}` };
      await sending.promise;
      throw new Error("no more");
    }
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      expect(String(await failure(all(to.client.batch("greet", inputs()))))).to.equal("Error: no more");
    } finally {
      process.removeListener("unhandledRejection", note);
    }
    expect(unhandled).to.deep.equal([]);
  });

  it("keeps none of the inputs that have been sent", async () => {
    const fetch = async (_: unknown, { body }: RequestInit) => {
      const verdicts = `${body}`.split("\n").map((text, line) => {
        return JSON.stringify({ line, id: JSON.parse(text).id, index: 0, location: "" });
      });
      return new Response(verdicts.join("\n"));
    };
    const client = new PaihaoClient({ url: "http://localhost", fetch: fetch as typeof globalThis.fetch });
    function* inputs() {
      for (let n = 0; n < 100_000; n += 1) yield { n, text: "x".repeat(500) };
    }
    const { signal } = new AbortController();
    const kept: number[] = [];
    for await (const { line } of client.batch("any", inputs(), { signal })) {
      if (line === 10_000 || line === 99_000) kept.push(await keptMb());
    }
    const [early = 0, late = 0] = kept;
    expect(late - early, `${kept.join(" MB, then ")} MB`).to.be.below(8);
  });
});
