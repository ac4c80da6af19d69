import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { z } from "zod";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { GiveUp, giveUp, type Problem, RetryLater, retryLater } from "../../src/handler/intents.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

const circular = (): unknown => {
  const ring: Record<string, unknown> = {};
  ring.ring = ring;
  return ring;
};
/** An object that throws on every access. */
const hostile = (): unknown =>
  new Proxy(
    {},
    {
      get() {
        throw new Error("do not touch");
      },
      getPrototypeOf() {
        throw new Error("do not ask");
      },
    },
  );
class Evasive extends Error {
  override get message(): string {
    throw new Error("no message");
  }
  override get stack(): string {
    throw new Error("no stack");
  }
}

/** How often the endless source was read and canceled. */
const source = { pulled: 0, canceled: 0 };
const endless = () =>
  new Response(
    new ReadableStream({
      pull(controller) {
        source.pulled += 1;
        controller.enqueue(new Uint8Array(100));
      },
      cancel() {
        source.canceled += 1;
      },
    }),
  );

const ANSWERS: Readonly<Record<string, () => unknown>> = {
  json: () => ({ grüße: ["世界", 1, null] }),
  nan: () => ({ n: Number.NaN, i: Number.POSITIVE_INFINITY }),
  null: () => null,
  nothing: () => undefined,
  bytes: () => new Uint8Array([0, 255, 128]),
  slice: () => Buffer.from("abcdef").subarray(2, 4),
  "array buffer": () => new Uint8Array([0, 255, 128]).buffer,
  "typed array": () => new Uint16Array([0x6161, 0x6262, 0x6363]).subarray(1),
  "data view": () => new DataView(new Uint8Array([97, 98, 99]).buffer, 1),
  blob: () => new Blob(["é"], { type: "image/png" }),
  "blob without type": () => new Blob(["ab"]),
  stream: () => new Blob(["ab"]).stream(),
  "values that JSON has": () => [new Date(0), [undefined, {}], new URL("http://a/"), Object.create(null), Object("x")],
  response: () => new Response("made", { status: 201, headers: { "Content-Type": "text/plain", "X-Made-By": "me" } }),
  "empty response": () => new Response(null, { status: 204 }),
  limit: () => "x".repeat(998),
  "too large": () => "x".repeat(999),
  bigint: () => ({ n: 1n }),
  circular,
  map: () => new Map([["a", 1]]),
  "nested set": () => ({ "a/b": [1, { tags: new Set([1]) }] }),
  "nested promise": () => ({ later: Promise.resolve(1) }),
  error: () => ({ failure: Object.assign(new RangeError("no"), { code: 1 }) }),
  regexp: () => /a/,
  function: () => ({ run: () => 1 }),
  symbol: () => Symbol("a"),
  "nested bytes": () => ({ image: Buffer.from("a") }),
  generator: () => (function* () {})(),
  "nested response": () => [new Response("a")],
  "failed response": () => Response.error(),
  endless,
  "response at the limit": () => new Response("x".repeat(1000)),
  "used response": async () => {
    const response = new Response("once");
    await response.text();
    return response;
  },
  "broken body": () =>
    new Response(
      new ReadableStream({
        pull() {
          throw new Error("the source broke");
        },
      }),
    ),
};

const THROWN: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  string: () => "just text",
  number: () => 7,
  symbol: () => Symbol("odd"),
  "bare object": () => Object.create(null),
  hostile,
  evasive: () => new Evasive(),
  "circular cause": () => {
    const error = new Error("outer");
    error.cause = error;
    return error;
  },
  "big problem": () => giveUp({ status: 422, count: 10n }),
  "wild texts": () => new GiveUp({ title: 5, detail: { toString: 1 } } as unknown as Problem),
  "long problem": () => giveUp({ status: 422, detail: "x".repeat(2_000_000) }),
  "wild status": () => new GiveUp({ status: 99 }),
  "wild pause": () => new RetryLater(Number.NaN),
};

describe("what a handler returns", () => {
  let shop: Workshop;
  before(async () => {
    const answers = defineHandler<string>({ queue: "answers", attempts: 1, run: (kind) => ANSWERS[kind]?.() });
    const many = defineHandler<string>({
      queue: "many",
      attempts: 1,
      batch: { max: 2, wait: "50ms" },
      run: (kinds) => kinds.map((kind) => ANSWERS[kind]?.()),
    });
    shop = await openWorkshop([answers, many] as Handler[]);
    await shop.worker({ maxResultBytes: 1000 });
  });
  after(() => shop.close());

  const resultOf = async (kind: string) => (await shop.ended(await shop.submit(kind))).result;
  const isStored: Readonly<Record<string, [status: number, type: string | null, body: string]>> = {
    json: [200, "application/json", '{"grüße":["世界",1,null]}'],
    nan: [200, "application/json", '{"n":null,"i":null}'],
    null: [200, "application/json", "null"],
    nothing: [204, null, ""],
    bytes: [200, "application/octet-stream", "\u0000\u00ff\u0080"],
    slice: [200, "application/octet-stream", "cd"],
    "array buffer": [200, "application/octet-stream", "\u0000\u00ff\u0080"],
    "typed array": [200, "application/octet-stream", "bbcc"],
    "data view": [200, "application/octet-stream", "bc"],
    blob: [200, "image/png", "é"],
    "blob without type": [200, "application/octet-stream", "ab"],
    stream: [200, "application/octet-stream", "ab"],
    "values that JSON has": [200, "application/json", '["1970-01-01T00:00:00.000Z",[null,{}],"http://a/",{},"x"]'],
    response: [201, "text/plain", "made"],
    "empty response": [204, null, ""],
    limit: [200, "application/json", `"${"x".repeat(998)}"`],
  };
  for (const [kind, [status, type, body]] of Object.entries(isStored)) {
    it(`is stored: ${kind}`, async () => {
      const result = await resultOf(kind);
      expect([result?.status, result?.contentType]).to.deep.equal([status, type]);
      const encoding = type === "application/octet-stream" ? "latin1" : "utf8";
      expect(Buffer.from(result?.body ?? []).toString(encoding)).to.equal(body);
      if (kind === "response") expect(result?.headers).to.deep.equal({ "x-made-by": "me" });
    });
  }

  const fails: Readonly<Record<string, string>> = {
    bigint: "the result is not JSON: a BigInt at #/n",
    circular: "the result is not JSON: a circular reference at #/ring",
    map: "the result is not JSON: a Map",
    "nested set": "the result is not JSON: a Set at #/a~1b/1/tags",
    "nested promise": "the result is not JSON: a Promise at #/later",
    error: "the result is not JSON: a RangeError at #/failure",
    regexp: "the result is not JSON: a RegExp",
    function: "the result is not JSON: a function at #/run",
    symbol: "the result is not JSON: a symbol",
    "nested bytes": "the result is not JSON: a Buffer at #/image (bytes can only be a whole result)",
    generator: "the result is not JSON: a Generator",
    "nested response": "the result is not JSON: a Response at #/0",
    "failed response": "a Response of status 0 is not a result",
    "broken body": "the source broke",
    "used response": "the body of the Response has already been read",
  };
  for (const [kind, error] of Object.entries(fails)) {
    it(`fails the task if it cannot be stored, with an error that says why: ${kind}`, async () => {
      const seen = await shop.ended(await shop.submit(kind));
      expect(seen).to.include({ state: "failed", errorCode: "task-failed" });
      expect(seen.errors[0]).to.equal(error);
    });
  }

  it("fails only its own task of a batch", async () => {
    const ids = await Promise.all(["nested set", "json"].map((kind) => shop.submit(kind, { queue: "many" })));
    const [failed, done] = await Promise.all(ids.map((id) => shop.ended(id)));
    expect([failed?.state, failed?.errors[0], done?.state]).to.deep.equal(["failed", fails["nested set"], "succeeded"]);
  });

  it("fails the task without another attempt if it is too large, with an error that says so", async () => {
    const id = await shop.submit("too large");
    const seen = await shop.ended(id);
    expect(seen).to.include({ state: "failed", attempts: 1 });
    expect(JSON.parse(String(Buffer.from(seen.result?.body ?? [])))).to.include({
      detail: "the result has 1001 bytes, more than MAX_RESULT (1000)",
    });
  });
});

describe("the limit MAX_RESULT on a Response", () => {
  let shop: Workshop;
  /** A server whose compressed body is a thousand times as large when decompressed. */
  let bomb: Server;
  before(async () => {
    bomb = createServer((_, res) => {
      res.writeHead(200, { "Content-Encoding": "gzip", "Content-Type": "text/plain" });
      res.end(gzipSync(Buffer.alloc(50_000_000)));
    });
    await once(bomb.listen(0, "127.0.0.1"), "listening");
    const { port } = bomb.address() as AddressInfo;
    const answers = defineHandler<string>({
      queue: "responses",
      run: (kind) => (kind === "bomb" ? fetch(`http://127.0.0.1:${port}/`) : ANSWERS[kind]?.()),
    });
    shop = await openWorkshop([answers as Handler]);
    await shop.worker({ maxResultBytes: 1000 });
  });
  after(async () => {
    bomb.closeAllConnections();
    bomb.close();
    await shop.close();
  });

  it("cancels a longer stream, and the task fails for good", async () => {
    const seen = await shop.ended(await shop.submit("endless"));
    expect(seen).to.include({ state: "failed", attempts: 1 });
    expect(seen.errors[0]).to.equal("the result has more than 1000 bytes, which is MAX_RESULT");
    expect(source.canceled).to.equal(1);
    expect(source.pulled).to.be.below(20);
  });

  it("allows a body of exactly that length", async () => {
    const { result } = await shop.ended(await shop.submit("response at the limit"));
    expect(result?.body.length).to.equal(1000);
  });

  it("stops the decompression of a fetched body", async () => {
    const seen = await shop.ended(await shop.submit("bomb"));
    expect(seen).to.include({ state: "failed", attempts: 1 });
    expect(seen.errors[0]).to.contain("MAX_RESULT");
  });
});

describe("what a handler throws", () => {
  let shop: Workshop;
  const runs = new Map<string, number[]>();
  const scripts: Readonly<Record<string, (run: number) => unknown>> = {
    later: (run) => {
      if (run < 3) throw retryLater("5ms");
      return "in the end";
    },
    "give up": () => {
      throw giveUp({ status: 422, title: "Not an image", hint: { try: "png" } });
    },
    flaky: (run) => {
      if (run === 0) throw new Error("the first time");
      return "the second time";
    },
  };
  before(async () => {
    const throws = defineHandler<string>({
      queue: "throws",
      attempts: 1,
      run: (kind) => Promise.reject(THROWN[kind]?.()),
    });
    const scripted = defineHandler<string>({
      queue: "scripted",
      attempts: 3,
      backoff: { base: "200ms" },
      run: (kind, task) => {
        const times = runs.get(task.id) ?? [];
        runs.set(task.id, [...times, performance.now()]);
        return scripts[kind]?.(times.length);
      },
    });
    const checked = defineHandler({
      queue: "checked",
      attempts: 3,
      input: z.object({ width: z.number().default(7), unit: z.string().transform((unit) => unit.toUpperCase()) }),
      run: (input) => input,
    });
    shop = await openWorkshop([throws, scripted, checked] as Handler[]);
    await shop.worker();
  });
  after(() => shop.close());

  for (const kind of Object.keys(THROWN).filter((name) => !name.startsWith("wild"))) {
    it(`only fails the attempt, whatever it is: ${kind}`, async () => {
      const seen = await shop.ended(await shop.submit(kind, { queue: "throws" }));
      expect(seen).to.include({ state: "failed", errorCode: "task-failed" });
      expect(seen.errors[0]).to.be.a("string").and.not.equal("");
    });
  }

  it("is brought into the valid range", async () => {
    const status = await shop.ended(await shop.submit("wild status", { queue: "throws" }));
    expect(status.result?.status).to.equal(500);
    const texts = await shop.ended(await shop.submit("wild texts", { queue: "throws" }));
    expect(JSON.parse(String(texts.result?.body))).to.include({ title: "5", detail: '{"toString":1}' });
    const pause = await shop.submit("wild pause", { queue: "throws" });
    await shop.ended(pause, "retrying");
    // It is due again at once, so it may be running by now.
    await shop.engine.call("cancel", { id: pause, queue: "throws" });
    expect(await shop.ended(pause)).to.include({ state: "canceled" });
  });

  it("is limited to MAX_RESULT: a longer problem of giveUp is not stored, but the task still fails", async () => {
    const seen = await shop.ended(await shop.submit("long problem", { queue: "throws" }));
    expect(seen).to.include({ state: "failed", errorCode: "task-failed", attempts: 1 });
    expect(JSON.parse(String(seen.result?.body))).to.deep.include({
      type: "/problems/task-failed",
      detail: "the problem of giveUp has 2000026 bytes, more than MAX_RESULT (1000000)",
    });
  });

  it("can be retryLater any number of times, without using up attempts", async () => {
    const id = await shop.submit("later", { queue: "scripted" });
    expect(await shop.answer(id)).to.equal("in the end");
    expect(runs.get(id)).to.have.length(4);
    expect((await shop.look(id)).attempts).to.equal(1);
  });

  it("can be giveUp: its problem, with extensions, is the result", async () => {
    const id = await shop.submit("give up", { queue: "scripted" });
    const { result, state, attempts } = await shop.ended(id);
    expect([state, attempts, result?.status]).to.deep.equal(["failed", 1, 422]);
    expect(JSON.parse(String(Buffer.from(result?.body ?? [])))).to.deep.equal({
      type: "/problems/task-failed",
      title: "Not an image",
      status: 422,
      hint: { try: "png" },
    });
  });

  it("fails the attempt; the next one starts after the backoff", async () => {
    const id = await shop.submit("flaky", { queue: "scripted" });
    await shop.ended(id, "retrying");
    expect(await shop.answer(id)).to.equal("the second time");
    const [first = 0, second = 0] = runs.get(id) ?? [];
    // Half of the 200 ms is random.
    expect(second - first).to.be.within(100, 10_000);
    expect((await shop.look(id)).attempts).to.equal(2);
  });

  it("is logged with the task's id, its queue and its attempt", async () => {
    const id = await shop.submit("evasive", { queue: "throws" });
    await shop.ended(id);
    const line = await eventually(
      () => shop.log.find((l) => l.requestId === id && l.msg === "the attempt failed") ?? false,
    );
    expect(line).to.include({ queue: "throws", attempt: 1 });
  });

  it("is not about the input: the worker applies defaults and transforms of the schema", async () => {
    const id = await shop.submit({ unit: "px" }, { queue: "checked" });
    expect(await shop.answer(id)).to.deep.equal({ width: 7, unit: "PX" });
  });

  it("does not matter if a stored input no longer matches the schema: the task fails for good", async () => {
    const seen = await shop.ended(await shop.submit({ unit: 7 }, { queue: "checked" }));
    expect(seen).to.include({ state: "failed", attempts: 1 });
  });
});
