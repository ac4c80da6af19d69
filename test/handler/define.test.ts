import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { z } from "zod";
import { defineGateway } from "../../src/extras/gateway/gateway.ts";
import {
  consumesType,
  defineHandler,
  type HandlerOptions,
  inputJsonSchema,
  isHandler,
} from "../../src/handler/define.ts";
import { giveUp } from "../../src/handler/intents.ts";
import { OPTIONS } from "../../src/handler/options.ts";
import { undoOf } from "../../src/handler/undos.ts";
import { taskContext } from "../handlers/context.ts";
import { ROOT } from "../shared/root.ts";

const run = () => null;
const define = (options: Partial<HandlerOptions<unknown>>) => defineHandler({ queue: "q", run, ...options });

describe("defineHandler", () => {
  it("requires only queue and run, and leaves the server's defaults open", () => {
    const handler = defineHandler({ queue: "plain", run });
    expect(handler).to.include({
      queue: "plain",
      schema: undefined,
      timeoutMs: undefined,
      attempts: undefined,
      leaseMs: undefined,
      resultTtlMs: undefined,
      tombstoneTtlMs: undefined,
    });
    expect(handler.concurrency).to.deep.equal({ each: undefined, total: undefined });
    expect(handler.consumes).to.deep.equal(["application/json"]);
    expect(handler.backoff).to.deep.equal({ baseMs: 1000, maxMs: 60_000 });
  });

  it("reads durations in their units", () => {
    const handler = define({
      timeout: "1.5s",
      lease: "5m",
      resultTtl: "1h",
      tombstoneTtl: "7d",
      targetWait: "10s",
      support: "Write to help@example.org.",
      warmup: "70s",
      backoff: { base: 250, max: "2s" },
    });
    expect(handler).to.include({
      timeoutMs: 1500,
      leaseMs: 300_000,
      resultTtlMs: 3_600_000,
      targetWaitMs: 10_000,
      support: "Write to help@example.org.",
      warmupMs: 70_000,
    });
    expect(handler.tombstoneTtlMs).to.equal(604_800_000);
    expect(handler.backoff).to.deep.equal({ baseMs: 250, maxMs: 2000 });
  });

  it("never has a maximum backoff below the base", () => {
    expect(define({ backoff: { base: "5m" } }).backoff).to.deep.equal({ baseMs: 300_000, maxMs: 300_000 });
    expect(define({ backoff: { base: "10s", max: "1s" } }).backoff).to.deep.equal({ baseMs: 10_000, maxMs: 10_000 });
  });

  it("passes input and task to run, with the options as this", async () => {
    const options = {
      queue: "q",
      factor: 2,
      run(this: { factor: number }, input: number) {
        return input * this.factor;
      },
    };
    const { task } = taskContext();
    expect(await defineHandler<number>(options).run(21, task)).to.equal(42);
    const passed = defineHandler({ queue: "q", run: (_input, given) => given.id === task.id });
    expect(await passed.run(null, task)).to.equal(true);
  });

  it("refuses an option with its queue, its name, its value and what was expected", () => {
    const wrong: [options: Record<string, unknown>, message: string][] = [
      [{ timout: "1s" }, 'handler of queue "q": there is no option "timout"; did you mean "timeout"?'],
      [{ rate: { max: 1, pre: "1s" } }, 'handler of queue "q": there is no option "rate.pre"; did you mean "per"?'],
      [{ backoff: { bas: "1s" } }, 'handler of queue "q": there is no option "backoff.bas"; did you mean "base"?'],
      [{ queue: undefined }, "queue is undefined, expected"],
      [{ queue: "" }, 'queue is "", expected'],
      [{ queue: "Upper" }, 'queue is "Upper", expected'],
      [{ queue: "a b" }, 'queue is "a b", expected'],
      [{ queue: "x".repeat(65) }, "expected 1–64 characters"],
      [{ queue: "paihao.webhooks" }, 'a name that does not start with "paihao."'],
      [{ run: undefined }, "run is undefined, expected a function"],
      [{ run: "x" }, 'run is "x", expected a function'],
      [{ input: {} }, "input is {}, expected a Standard Schema"],
      [{ input: null }, "input is null, expected a Standard Schema"],
      [{ timeout: "soon" }, 'timeout is "soon", expected a duration'],
      [{ timeout: 0 }, "timeout is 0, expected a duration"],
      [{ lease: "999ms" }, 'lease is "999ms", expected'],
      [{ backoff: { base: -1 } }, "backoff.base is -1, expected"],
      [{ backoff: { max: "1 week" } }, 'backoff.max is "1 week", expected'],
      [{ backoff: "2s" }, 'backoff is "2s", expected { base'],
      [{ rate: { max: 5 } }, 'rate is {"max":5}, expected { max: 5, per: "1s" }'],
      [{ rate: { per: "1s" } }, 'rate is {"per":"1s"}, expected { max: 5, per: "1s" }'],
      [{ rate: { max: 5, per: "soon" } }, 'rate.per is "soon", expected a duration'],
      [{ rate: 5 }, 'rate is 5, expected { max: 5, per: "1s" }'],
      [{ resultTtl: "never" }, 'resultTtl is "never", expected'],
      [{ tombstoneTtl: Number.NaN }, "tombstoneTtl is null, expected"],
      [{ attempts: 0 }, "attempts is 0, expected a whole number from 1"],
      [{ attempts: 1.5 }, "attempts is 1.5, expected a whole number"],
      [{ concurrency: -1 }, "concurrency is -1, expected a whole number from 0 to 1000000"],
      [{ concurrency: { each: -1 } }, "concurrency.each is -1, expected a whole number from 0 to 1000000"],
      [{ concurrency: { total: 0 } }, "concurrency.total is 0, expected a whole number from 1 to 1000000"],
      [{ concurrency: { totl: 1 } }, 'there is no option "concurrency.totl"; did you mean "total"?'],
      [{ concurrency: "4" }, 'concurrency is "4", expected a whole number'],
      [{ fair: {} as never }, "fair is {}, expected true, false or { by: (input, task) => key"],
      [{ fair: { by: () => "", weight: 3 as never } }, "fair.weight is 3, expected a function"],
      [{ targetWait: "0s" }, 'targetWait is "0s", expected a duration'],
      [{ support: " " }, 'support is " ", expected a sentence'],
      [{ warmup: "2h" }, 'warmup is "2h", expected a duration'],
      [{ description: 3 as never }, "description is 3, expected text of at most 2000 characters"],
      [{ maxLost: -1 }, "maxLost is -1, expected a whole number from 0"],
      [{ consumes: [] }, "consumes is [], expected media types"],
      [{ consumes: "image/*" }, 'consumes is "image/*", expected media types'],
      [{ consumes: ["image"] }, 'consumes is ["image"], expected media types'],
      [{ consumes: ["*/png"] }, 'consumes is ["*/png"], expected media types'],
    ];
    for (const [options, message] of wrong) {
      expect(() => define(options as Partial<HandlerOptions<unknown>>), message).to.throw(TypeError, message);
    }
    expect(() => define({ attempts: 0 })).to.throw('handler of queue "q": ');
  });

  it("has the options of docs/handlers.md, with their defaults", () => {
    const guide = readFileSync(join(ROOT, "docs/handlers.md"), "utf8");
    const [, table = ""] = /\| option \| default \| \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(guide) ?? [];
    // A row may be of several options.
    const rows = table
      .trimEnd()
      .split("\n")
      .map((row) => row.split(" | ").map((cell) => cell.replace(/^\| /, "")));
    const told = rows.flatMap(([names = "", defaults = ""]) => {
      const all = defaults.split(", ");
      return names.split(", ").map((name, i): [string, string] => [name.replaceAll("`", ""), all[i] ?? ""]);
    });
    const optional = Object.entries(OPTIONS).filter(([, { fallback }]) => fallback !== null);
    expect(Object.fromEntries(told)).to.deep.equal(
      Object.fromEntries(optional.map(([name, { fallback }]) => [name, fallback])),
    );
  });

  it("accepts every valid queue name", () => {
    for (const queue of ["a", "0", "a.b_c-d", "x".repeat(64), "paihao"]) {
      expect(define({ queue }).queue).to.equal(queue);
    }
  });
});

describe("a handler", () => {
  it("accepts the media types that it consumes, including ranges, in any case", () => {
    const pictures = define({ consumes: ["image/*", "Application/PDF"] });
    for (const type of ["image/png", "image/svg+xml", "application/pdf"]) {
      expect(consumesType(pictures, type), type).to.equal(true);
    }
    for (const type of ["application/json", "imagex/png", "application/pdf2", "image"]) {
      expect(consumesType(pictures, type), type).to.equal(false);
    }
    expect(consumesType(define({ consumes: ["*/*"] }), "text/plain")).to.equal(true);
    expect(consumesType(define({}), "application/json")).to.equal(true);
  });

  it("may take many tasks in one call, and refuses anything else", async () => {
    const many = (batch: unknown, more: object = {}) =>
      defineHandler({ queue: "q", batch: batch as { max: number }, run: (inputs) => inputs, ...more });
    expect(define({}).batch).to.equal(undefined);
    expect(many({ max: 32, wait: "50ms" }).batch).to.deep.equal({ max: 32, waitMs: 50 });
    expect(many({ max: 2 }).batch).to.deep.equal({ max: 2, waitMs: 0 });
    for (const wrong of [
      true,
      {},
      { max: 1 },
      { max: 501 },
      { max: 2.5 },
      { max: 2, wait: "2m" },
      { max: 2, wait: "soon" },
    ])
      expect(() => many(wrong)).to.throw(TypeError, /: batch/);
    expect(() => many({ max: 2, waits: "1s" })).to.throw(TypeError, /batch\.waits.*wait/);
    expect(() => many({ max: 2 }, { isolate: true })).to.throw(TypeError, /isolate cannot be combined with batch/);
    const gateway = { queue: "q", target: "http://127.0.0.1:1", batch: { max: 2 } };
    expect(() => defineGateway(gateway)).to.throw(TypeError, /batch/);
  });

  it("types a handler with batch by one input and one result", async () => {
    const doubling = defineHandler({
      queue: "doubling",
      input: z.object({ word: z.string() }),
      batch: { max: 8 },
      run: (inputs, tasks) =>
        inputs.map(({ word }, n) => (word === "" ? giveUp({ title: tasks[n]?.id ?? "" }) : { twice: word + word })),
    });
    type Types = NonNullable<typeof doubling.types>;
    const input: Types["input"] = { word: "a" };
    const result: Types["result"] = { twice: "aa" };
    // @ts-expect-error callers send one input, not several
    const wrong: Types["input"] = [input];
    // @ts-expect-error an error is how a task ends, not its result
    const failure: Types["result"] = new Error();
    expect(await doubling.run(input, taskContext().task)).to.deep.equal(result);
    expect([wrong, failure]).to.have.lengthOf(2);
  });

  it("may be keyed by a function, and refuses anything else", () => {
    const by = () => "key";
    expect(define({}).keyed).to.equal(undefined);
    expect(define({ keyed: { by } }).keyed?.concurrency).to.equal(1);
    const { keyed } = define({ keyed: { by: (_input, { id }) => id, concurrency: 3 } });
    const task = { id: "7", queue: "q", query: {}, mediaType: "", caller: null };
    expect([keyed?.concurrency, keyed?.by(1, task)]).to.deep.equal([3, "7"]);
    for (const wrong of [true, "key", {}, { by: "key" }, { by, concurrency: 0 }, { by, concurrency: 1.5 }]) {
      expect(() => define({ keyed: wrong as unknown as { by: typeof by } })).to.throw(TypeError, /: keyed/);
    }
  });

  it("may have limits of a caller, and refuses anything else", () => {
    const by = () => "key";
    expect(define({}).limit).to.equal(undefined);
    expect(define({ limit: { waiting: 20, running: 2 } }).limit).to.deep.equal({
      waiting: 20,
      running: 2,
      by: "caller",
    });
    expect(define({ limit: { running: 2, by } }).limit).to.deep.equal({ waiting: undefined, running: 2, by });
    for (const wrong of [
      true,
      20,
      null,
      {},
      { by },
      { waiting: 0 },
      { waiting: 1.5 },
      { running: 0 },
      { running: "2" },
    ]) {
      expect(() => define({ limit: wrong as { waiting: number } })).to.throw(TypeError, /: limit/);
    }
    expect(() => define({ limit: { waiting: 1, by: "ip" as never } })).to.throw(
      TypeError,
      /limit\.by is "ip", expected a function/,
    );
    expect(() => define({ limit: { wating: 1 } as never })).to.throw(TypeError, /no option "limit\.wating".*waiting/);
    expect(() => define({ limit: { waiting: 1 }, keyed: { by } })).to.throw(
      TypeError,
      /limit cannot be combined with keyed/,
    );
  });

  it("has undos by step name, and refuses a function", () => {
    const undo = { book: () => 1, "*": () => 2 };
    expect(define({ undo }).undo).to.deep.equal(undo);
    expect(define({}).undo).to.equal(undefined);
    expect(define({ undo: {} }).undo).to.equal(undefined);
    for (const [wrong, message] of [
      [() => 1, /queue "[^"]+": undo is a function, expected an object of functions by the name of the step: \{ book:/],
      ["book", /undo is "book", expected an object/],
      [null, /undo is null, expected an object/],
      [{ book: "it" }, /undo\["book"\] is "it", expected a function/],
    ] as const) {
      expect(() => define({ undo: wrong as unknown as typeof undo })).to.throw(TypeError, message);
    }
  });

  it("undoes a step by the undo of its full name, or of the part before its first colon", () => {
    const [book, exactly] = [() => 1, () => 2];
    const handler = define({ undo: { book, "book:7": exactly, "*": () => 3 } });
    expect(undoOf(handler, "book")).to.equal(book);
    expect(undoOf(handler, "book:42:x")).to.equal(book);
    expect(undoOf(handler, "book:7")).to.equal(exactly);
    for (const name of ["*", "*:1", "books", "book-1", ":book", "toString", "__proto__", "constructor:1"]) {
      expect(undoOf(handler, name), name).to.equal(undefined);
    }
  });

  it("has the JSON Schema of its input, or null", () => {
    const sized = define({ input: z.object({ width: z.int().min(1) }) });
    expect(inputJsonSchema(sized)).to.deep.include({ type: "object", required: ["width"] });
    expect(inputJsonSchema(define({}))).to.equal(null);
    expect(inputJsonSchema(define({ input: z.custom(() => true) }))).to.satisfy(
      (schema: unknown) => schema === null || typeof schema === "object",
    );
    expect(inputJsonSchema(define({ input: z.date() }))).to.equal(null);
    const bare = { "~standard": { version: 1 as const, vendor: "own", validate: (value: unknown) => ({ value }) } };
    expect(inputJsonSchema(define({ input: bare }))).to.equal(null);
  });

  it("is distinguished from everything else", () => {
    expect(isHandler(define({}))).to.equal(true);
    for (const value of [null, undefined, {}, { queue: "q", run }, run, "handler"])
      expect(isHandler(value)).to.equal(false);
  });
});

describe("another copy of the module", () => {
  it("recognizes handlers of this one, and the reverse", async () => {
    // A query makes it another module to the loader.
    const copy: typeof import("../../src/handler/define.ts") = await import(
      `${new URL("../../src/handler/define.ts", import.meta.url).href}?copy`
    );
    expect(copy.defineHandler).to.not.equal(defineHandler);
    expect(isHandler(copy.defineHandler({ queue: "q", run }))).to.equal(true);
    expect(copy.isHandler(define({}))).to.equal(true);
  });
});
