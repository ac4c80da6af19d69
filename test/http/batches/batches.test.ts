import { once } from "node:events";
import http from "node:http";
import { expect } from "chai";
import { Redis } from "ioredis";
import { closedGate } from "../../helpers/gates.ts";
import { openBatch, verdictsOf } from "../../helpers/http/batch.ts";
import { type Sent, startServer, type TestServer } from "../../helpers/http/server.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";

const NDJSON = { "Content-Type": "application/x-ndjson" };
const MIB = 1024 ** 2;

describe("batches over HTTP", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAX_BODY: "2kb" });
  });
  after(() => server.stop());

  const send = (queue: string, sent: Pick<Sent, "body" | "chunks" | "headers">, search = "") =>
    server.send(`/v1/queues/${queue}/batches${search}`, {
      method: "POST",
      ...sent,
      headers: { ...NDJSON, ...sent.headers },
    });

  it("answers 202 with one verdict per line, in order, and runs every task", async () => {
    const answer = await send("default", { body: '{"n":0}\n[1,2]\n"zwei 世界"\nnull\n' });
    expect(answer.status).to.equal(202);
    expect(answer.headers).to.include({ "content-type": "application/x-ndjson", "cache-control": "no-store" });
    const verdicts = verdictsOf(answer.text);
    expect(verdicts.map((v) => v.line)).to.deep.equal([0, 1, 2, 3]);
    const inputs = [];
    for (const verdict of verdicts) {
      expect(verdict).to.have.all.keys("line", "id", "href", "index");
      expect(verdict.href).to.equal(`/v1/requests/${verdict.id}`);
      await server.until(verdict.id, "succeeded");
      inputs.push((await server.send(verdict.href)).json.input);
    }
    expect(inputs).to.deep.equal([{ n: 0 }, [1, 2], "zwei 世界", null]);
  });

  it("does so even if some lines are long and use another connection", async () => {
    const large = await startServer({ MAX_BODY: "2mb" });
    try {
      const gate = closedGate();
      await large.enqueue("gated", gate.input);
      await gate.entered;
      const long = { ...gate.input, more: "x".repeat(1.5 * MIB) };
      const lines = Array.from({ length: 140 }, (_, n) => JSON.stringify(n % 70 === 45 ? long : gate.input));
      const body = lines.join("\n");
      const answer = await large.send("/v1/queues/gated/batches", { method: "POST", headers: NDJSON, body });
      expect(verdictsOf(answer.text).map((v) => v.index)).to.deep.equal(lines.map((_, i) => i));
      gate.open();
    } finally {
      await large.stop();
    }
  });

  it("answers a bad line with a problem of the catalogue, and accepts the others (RFC 9457)", async () => {
    const lines = ['{"width":5}', '{"width":', '{"width":0,"tags":[{}]}', `{"width":"${"x".repeat(2100)}"}`];
    const body = Buffer.concat([
      ...lines.map((l) => Buffer.from(`${l}\n`)),
      Buffer.from([0xff, 0x0a]),
      Buffer.from("{}"),
    ]);
    const verdicts = verdictsOf((await send("checked", { body })).text);
    const codes = verdicts.map((v) => v.problem?.type);
    const bad = ["malformed-json", "invalid-input", "payload-too-large", "malformed-json", "invalid-input"];
    expect(codes).to.deep.equal([undefined, ...bad.map((code) => `/problems/${code}`)]);
    expect(verdicts[2].problem).to.include({ status: 400 });
    expect(verdicts[2].problem.errors.map((e: { pointer: string }) => e.pointer)).to.deep.equal([
      "#/width",
      "#/tags/0/%C3%BCn%C3%AF",
    ]);
    expect(verdicts[3].problem).to.include({ status: 413 });
    await server.until(verdicts[0].id, "succeeded");
  });

  it("waits for a schema that is async, line by line", async () => {
    const lines = Array.from({ length: 80 }, (_, n) => JSON.stringify({ n: n === 40 ? 100 : n })).join("\n");
    const verdicts = verdictsOf((await send("looked-up", { body: lines })).text);
    expect(verdicts.map((v) => v.line)).to.deep.equal(Array.from({ length: 80 }, (_, n) => n));
    expect(verdicts.filter((v) => v.problem).map((v) => v.line)).to.deep.equal([40]);
    expect(verdicts[40].problem).to.deep.include({ type: "/problems/invalid-input" });
    expect(verdicts[40].problem.errors).to.deep.equal([{ pointer: "#/n", detail: "unknown" }]);
    await server.until(verdicts[79].id, "succeeded");
    const one = await server.send("/v1/queues/looked-up/requests", { method: "POST", body: { n: 7 } });
    expect([one.status, one.json]).to.deep.equal([200, { n: 7 }]);
    const wrong = await server.send("/v1/queues/looked-up/requests", { method: "POST", body: { n: 100 } });
    expect([wrong.status, wrong.json.errors]).to.deep.equal([400, [{ pointer: "#/n", detail: "unknown" }]]);
  });

  it("takes id, priority, delay and deadline from envelopes", async () => {
    const gate = closedGate();
    await server.enqueue("gated-too", gate.input);
    await gate.entered;
    const body = [
      { id: "chosen-1", input: gate.input },
      { id: "chosen-2", input: gate.input, priority: 0 },
      { id: "chosen-3", input: gate.input, delay: 3600, deadline: 7200 },
    ];
    const answer = await send("gated-too", { body: body.map((e) => JSON.stringify(e)).join("\n") }, "?envelope=true");
    expect(verdictsOf(answer.text).map(({ id, index }) => [id, index])).to.deep.equal([
      ["chosen-1", 0],
      ["chosen-2", 0],
      ["chosen-3", null],
    ]);
    expect((await server.send("/v1/requests/chosen-1")).json.index).to.equal(1);
    expect((await server.send("/v1/requests/chosen-3")).json).to.include({ state: "scheduled", index: null });
    const { createdAt, deadlineAt } = (await server.send("/v1/requests/chosen-3/status")).json;
    expect(Date.parse(deadlineAt) - Date.parse(createdAt)).to.equal(7_200_000);
    gate.open();
    await server.until("chosen-1", "succeeded");
  });

  it("refuses an invalid envelope, and names what is wrong", async () => {
    const bad: [string, string][] = [
      ["[1]", "envelope"],
      ["7", "envelope"],
      ["{}", "input"],
      ['{"input":1,"prio":0}', "prio"],
      ['{"input":1,"deadline":0.5}', "deadline"],
      ['{"input":1,"deadline":"5"}', "deadline"],
      ['{"input":1,"delay":5,"deadline":5}', "deadline"],
      ['{"input":1,"__proto__":{"priority":1}}', "__proto__"],
      ['{"input":1,"id":"../x"}', "id"],
      ['{"input":1,"id":7}', "id"],
      ['{"input":1,"priority":8}', "priority"],
      ['{"input":1,"priority":1.5}', "priority"],
      ['{"input":1,"priority":"0"}', "priority"],
      ['{"input":1,"delay":-1}', "delay"],
      ['{"input":1,"delay":1e99}', "delay"],
      ['{"input":1,"delay":"5"}', "delay"],
    ];
    const answer = await send("default", { body: bad.map(([line]) => line).join("\n") }, "?envelope=true");
    const verdicts = verdictsOf(answer.text);
    expect(verdicts.map((v) => v.problem?.type)).to.deep.equal(bad.map(() => "/problems/invalid-parameter"));
    expect(verdicts.map((v) => v.problem?.parameter)).to.deep.equal(bad.map(([, name]) => name));
  });

  it("applies the query and the Priority header to all lines, and passes other parameters to the handler", async () => {
    const answer = await send("default", { body: "1\n2" }, "?delay=3600&colour=red&envelope=false");
    const [first] = verdictsOf(answer.text);
    expect(first.index).to.equal(null);
    expect((await server.send(first.href)).json.state).to.equal("scheduled");
    const now = verdictsOf((await send("default", { body: "1" }, "?colour=red")).text)[0];
    await server.until(now.id, "succeeded");
    expect((await server.send(now.href)).json.query).to.deep.equal({ colour: "red" });
  });

  it("refuses the whole batch if its queue, options or media type are wrong", async () => {
    const refused = async (queue: string, search: string, headers: Record<string, string>) => {
      const answer = await send(queue, { body: "1", headers }, search);
      return [answer.status, answer.json.type, answer.json.parameter];
    };
    expect(await refused("nowhere", "", {})).to.deep.equal([404, "/problems/unknown-queue", undefined]);
    for (const [search, name] of [
      ["?envelope=yes", "envelope"],
      ["?delay=x", "delay"],
      ["?dryRun=true", "dryRun"],
    ]) {
      expect(await refused("default", String(search), {})).to.deep.equal([400, "/problems/invalid-parameter", name]);
    }
    const unsupported = [415, "/problems/unsupported-media-type", undefined];
    expect(await refused("images", "", {})).to.deep.equal(unsupported);
    for (const type of ["application/json", "application/x-ndjsonp", "text/plain"]) {
      expect(await refused("default", "", { "Content-Type": type }), type).to.deep.equal(unsupported);
    }
    expect(await refused("default", "", { "Content-Encoding": "gzip" })).to.deep.equal(unsupported);
    const mixed = await send("default", {
      body: "1",
      headers: { "Content-Type": "Application/X-NDJSON; charset=utf-8" },
    });
    expect(mixed.status).to.equal(202);
  });

  it("answers 413 to a Content-Length above 32 MiB without reading on", async () => {
    const answer = await send("default", { chunks: ["1\n"], headers: { "Content-Length": String(32 * MIB + 1) } });
    expect(answer.status).to.equal(413);
    expect(answer.json.type).to.equal("/problems/payload-too-large");
  });

  it("accepts 10,000 lines and ends with payload-too-large at the next", async () => {
    const lines = (count: number) => "{}\n".repeat(count);
    const answer = await send("later", { body: `${lines(10_000)}{}\n{}\n` }, "?delay=3600");
    const verdicts = verdictsOf(answer.text);
    expect(verdicts).to.have.length(10_001);
    expect(verdicts.slice(0, -1).every((v, i) => v.line === i && typeof v.id === "string")).to.equal(true);
    expect(verdicts.at(-1)).to.deep.include({ line: 10_000 });
    expect(verdicts.at(-1).problem).to.include({ type: "/problems/payload-too-large", status: 413 });
  });

  it("ends a stream beyond 32 MiB with payload-too-large, and keeps little of it in memory", async () => {
    const batch = openBatch(server.url, "/v1/queues/default/batches");
    batch.write("1\n");
    expect(await batch.next()).to.include({ line: 0 });
    const before = process.memoryUsage().rss;
    const part = Buffer.alloc(MIB, "x");
    for (let i = 0; i < 33; i += 1) batch.write(part);
    expect((await batch.next()).problem.type).to.equal("/problems/payload-too-large");
    expect(await batch.next()).to.equal(undefined);
    expect(process.memoryUsage().rss - before).to.be.below(64 * MIB);
    batch.leave();
  });

  it("stores a last line without its newline together with the lines before it", async () => {
    const redis = new Redis(storeUrl());
    const monitor = await redis.monitor();
    try {
      const submits: string[] = [];
      monitor.on("monitor", (_time: string, [command = "", name = "", ...args]: string[]) => {
        const isOurs = args.some((arg) => arg.startsWith(`{${server.prefix}`));
        if (command.toLowerCase() === "fcall" && /submit/.test(name) && isOurs) submits.push(args.join(" "));
      });
      const verdicts = verdictsOf((await send("later", { body: "1\n2\n3" }, "?delay=3600")).text);
      const last = String(verdicts[2].id);
      await eventually(() => submits.some((call) => call.includes(last)));
      expect(submits).to.have.length(1);
    } finally {
      monitor.disconnect();
      redis.disconnect();
    }
  });

  it("answers a line before the next one is sent", async () => {
    const batch = openBatch(server.url, "/v1/queues/default/batches");
    for (let i = 0; i < 3; i += 1) {
      batch.write(`${i}\n`);
      expect(await batch.next()).to.include({ line: i });
    }
    expect((await batch.head).status).to.equal(202);
    batch.end("3");
    expect(await batch.next()).to.include({ line: 3 });
    expect(await batch.next()).to.equal(undefined);
  });

  it("keeps the lines that were read if the caller disconnects", async () => {
    const batch = openBatch(server.url, "/v1/queues/default/batches?envelope=true");
    batch.write('{"id":"left-behind","input":1}\n{"id":"half-a-li');
    expect(await batch.next()).to.include({ id: "left-behind" });
    batch.leave();
    await server.until("left-behind", "succeeded");
    expect((await server.send("/v1/requests/half-a-li")).json.type).to.equal("/problems/unknown");
    expect((await send("default", { body: "1" })).status).to.equal(202);
  });

  it("does not block for a caller who reads nothing before everything is sent", async () => {
    const request = http.request(new URL("/v1/queues/checked/batches", server.url), {
      method: "POST",
      agent: false,
      headers: NDJSON,
    });
    const response = once(request, "response") as Promise<[http.IncomingMessage]>;
    request.end(`${JSON.stringify({ width: 0, filler: "x".repeat(1500) })}\n`.repeat(10_000));
    await once(request, "finish");
    const parts: Buffer[] = [];
    for await (const part of (await response)[0]) parts.push(part as Buffer);
    const verdicts = verdictsOf(Buffer.concat(parts).toString());
    expect(verdicts).to.have.length(10_000);
    expect(verdicts.every((v, i) => v.line === i && v.problem.errors.length === 1)).to.equal(true);
  });
});

describe("batches and a full queue", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ MAX_WAITING: "3" });
  });
  after(() => server.stop());

  it("refuses each line that exceeds MAX_WAITING", async () => {
    const gate = closedGate();
    await server.enqueue("gated", gate.input);
    await gate.entered;
    const answer = await server.send("/v1/queues/gated/batches", {
      method: "POST",
      headers: NDJSON,
      body: `${JSON.stringify(gate.input)}\n`.repeat(5),
    });
    expect(answer.status).to.equal(202);
    const verdicts = verdictsOf(answer.text);
    expect(verdicts.slice(0, 3).map((v) => v.index)).to.deep.equal([0, 1, 2]);
    for (const { problem } of verdicts.slice(3)) {
      expect(problem).to.include({ type: "/problems/queue-full", status: 503, queue: "gated", waiting: 3 });
    }
    gate.open();
    await server.until(verdicts[2].id, "succeeded");
  });
});
