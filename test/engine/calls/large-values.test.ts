import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { LARGE_DEFAULTS } from "../../../src/engine/calls/large-values.ts";
import { Wait } from "../../../src/engine/watch/wait.ts";
import { ProblemError } from "../../../src/errors.ts";
import { type Scripts, scriptsOf } from "../../../src/store/library/scripts.ts";
import type { Lease } from "../../../src/store/task/lease.ts";
import type { Result } from "../../../src/task.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";
import { submissionOf } from "../../shared/submission.ts";

/** The length of an input that travels as a large one. */
const LONG = LARGE_DEFAULTS.writeBytes + 1;

/** What is read and written of large values. */
class LargeTraffic {
  /** Keys that were read, where pieces of them begin, and calls that wrote. */
  readonly reads: string[] = [];
  readonly pieces: number[] = [];
  readonly writes: string[] = [];
  underway = 0;
  maxUnderway = 0;
  /** Done before a value is read. */
  beforeRead: (key: string) => Promise<unknown> = async () => undefined;

  /** The scripts, noted here. */
  of(scripts: Scripts): Scripts {
    return {
      ...scripts,
      value: async (tag, key) => {
        this.reads.push(key.slice(tag.length));
        this.underway += 1;
        this.maxUnderway = Math.max(this.maxUnderway, this.underway);
        try {
          await this.beforeRead(key);
          return await scripts.value(tag, key);
        } finally {
          this.underway -= 1;
        }
      },
      piece: (tag, key, part) => {
        this.pieces.push(part.from);
        return scripts.piece(tag, key, part);
      },
      complete: (...args) => {
        this.writes.push("complete");
        return scripts.complete(...args);
      },
      fail: (...args) => {
        this.writes.push("fail");
        return scripts.fail(...args);
      },
      submit: (...args) => {
        this.writes.push("submit");
        return scripts.submit(...args);
      },
      update: (...args) => {
        this.writes.push("update");
        return scripts.update(...args);
      },
    };
  }
}

describe("a large value", () => {
  let jobs: TestEngine;
  let large: LargeTraffic;
  beforeEach(async () => {
    large = new LargeTraffic();
    jobs = await openEngine({ makeLarge: (redis) => large.of(scriptsOf(redis)) });
  });
  afterEach(() => jobs.close());

  const answer = (body: string | Buffer) => ({ status: 200, contentType: "text/plain", headers: {}, body });
  const batch = async (t: TestEngine, lines: readonly string[], of = (id: string) => ({ id })) => {
    const items = lines.map((input, n) => ({ ...submissionOf(`line${n}`, "jobs", input), ...of(`line${n}`) }));
    const ends = await t.engine.submitter.submitAll(items, t.settings);
    return ends.map((end) => (end.status === "fulfilled" ? end.value.index : end.reason));
  };
  async function taken(): Promise<Lease> {
    // Before all that waits.
    await jobs.submit({ priority: 0 });
    const [task] = await jobs.reserve();
    if (!task) throw new Error("nothing was taken");
    return { queue: "jobs", id: task.id, fence: task.fence };
  }
  async function completed(body: string | Buffer): Promise<string> {
    const lease = await taken();
    expect(await jobs.engine.leases.complete(lease, answer(body), jobs.settings)).to.equal("done");
    return lease.id;
  }
  const look = (id: string, maxBytes?: number) =>
    jobs.engine.inspector.inspect(id, { result: true, ...(maxBytes !== undefined && { maxBytes }) });

  describe("as a result", () => {
    it("is not read for callers who may not have it, so that timing reveals nothing", async () => {
      const id = await completed("x".repeat(1_000_000));
      const asked: (string | null)[] = [];
      const refuse = ({ caller }: { caller: string | null }) => asked.push(caller) === 0;
      const seen = await jobs.engine.inspector.inspect(id, { result: true, allowed: refuse });
      expect([seen?.state, seen?.result, asked]).to.deep.equal(["succeeded", null, [null]]);
      expect(large.reads).to.deep.equal([]);
      const had = await jobs.engine.inspector.inspect(id, { result: true, allowed: () => true });
      expect(had?.result?.body).to.have.length(1_000_000);
    });

    it("is not part of a script's reply, only its length is; a short one is", async () => {
      const [short, long] = [await completed("x".repeat(4000)), await completed("x".repeat(1_000_000))];
      const items = [short, long].map((id) => ({ id, result: true }));
      const { tasks } = await jobs.scripts.inspect(jobs.keys.tag(0), items);
      expect(tasks.map((row) => [row?.result?.body.length, row?.resultBytes])).to.deep.equal([
        [4000, 0],
        [undefined, 1_000_000 + '{"s":200,"t":"text/plain"}\n'.length],
      ]);
    });

    it("is read whole, once for all concurrent readers", async () => {
      const body = "排".repeat(100_000);
      const id = await completed(body);
      const seen = await Promise.all(Array.from({ length: 100 }, () => look(id)));
      for (const one of seen) expect(one?.result?.body.toString() === body).to.equal(true);
      expect(large.reads).to.deep.equal([`r:${id}`]);
    });

    it("is read together with others within the budget of bytes", async () => {
      const bytes = LARGE_DEFAULTS.inFlightBytes / 4;
      const ids: string[] = [];
      for (let n = 0; n < 8; n += 1) ids.push(await completed(Buffer.alloc(bytes, n)));
      const seen = await Promise.all(ids.map((id) => look(id)));
      for (const [n, one] of seen.entries()) {
        expect([one?.result?.body.length, one?.result?.body.at(-1)]).to.deep.equal([bytes, n]);
      }
      // With its head each is a little more than a quarter.
      expect(large.maxUnderway).to.equal(3);
    });

    it("is left out if it is longer than the caller wants", async () => {
      const id = await completed("x".repeat(100_000));
      expect(await look(id, 50_000)).to.deep.include({ state: "succeeded", result: null, expired: false });
      expect((await look(id, 200_000))?.result?.body.length).to.equal(100_000);
      expect(large.reads).to.have.length(1);
    });

    it("is reported as gone if it expires between inspecting and reading", async () => {
      const deleted = await completed("x".repeat(100_000));
      large.beforeRead = () => jobs.engine.call("cancel", { id: deleted, queue: "jobs" });
      expect(await look(deleted)).to.deep.include({ state: "succeeded", deleted: true, result: null });
      const expired = await completed("x".repeat(100_000));
      large.beforeRead = (key) => jobs.redis.del(key);
      expect(await look(expired)).to.deep.include({ state: "succeeded", result: null });
    });

    it("always belongs to the task's version: if it was replaced, the task is inspected again", async () => {
      const id = await completed("x".repeat(100_000));
      large.beforeRead = async (key) => {
        large.beforeRead = async () => undefined;
        await jobs.redis.set(key, `{"s":201}\n${"y".repeat(50_000)}`, "KEEPTTL");
      };
      const seen = await look(id);
      expect([seen?.result?.status, seen?.result?.body.length]).to.deep.equal([201, 50_000]);
    });

    it("is an error while the store does not answer, and can be read later", async () => {
      const id = await completed("x".repeat(100_000));
      large.beforeRead = () => Promise.reject(new ProblemError("store-unavailable"));
      const failed = await look(id).catch((error: unknown) => error);
      expect(failed).to.be.instanceOf(ProblemError).and.to.include({ code: "store-unavailable" });
      large.beforeRead = async () => undefined;
      expect((await look(id))?.result?.body.length).to.equal(100_000);
    });

    describe("in pieces", () => {
      const pieceBytes = LARGE_DEFAULTS.pieceBytes;
      const begin = async (id: string) =>
        (await jobs.engine.inspector.inspect(id, { result: true, inPieces: true }))?.result;
      async function bodyOf(result: Result | null | undefined): Promise<Buffer> {
        const pieces = [result?.body ?? new Uint8Array()];
        for await (const piece of result?.rest?.pieces() ?? []) pieces.push(piece);
        return Buffer.concat(pieces);
      }

      it("is read only as far as it is requested", async () => {
        const body = randomBytes(3 * pieceBytes);
        const id = await completed(body);
        const result = await begin(id);
        const head = '{"s":200,"t":"text/plain"}\n'.length;
        expect(result).to.deep.include({ status: 200, contentType: "text/plain" });
        expect([result?.body.length, result?.rest?.bytes]).to.deep.equal([pieceBytes - head, 2 * pieceBytes + head]);
        expect(large.pieces).to.deep.equal([0]);
        expect((await bodyOf(result)).equals(body)).to.equal(true);
        expect(large.pieces).to.deep.equal([0, 1, 2, 3].map((n) => n * pieceBytes));
        expect(large.reads).to.deep.equal([]);
      });

      it("is read at once if one piece is all", async () => {
        const id = await completed("x".repeat(pieceBytes / 2));
        const result = await begin(id);
        expect([result?.body.length, result?.rest]).to.deep.equal([pieceBytes / 2, undefined]);
      });

      it("is read at once if a piece does not even have its headers", async () => {
        await jobs.submit();
        const [task] = await jobs.reserve();
        const lease = { queue: "jobs", id: String(task?.id), fence: String(task?.fence) };
        const headers = { "x-long": "y".repeat(pieceBytes) };
        await jobs.engine.leases.complete(lease, { ...answer("short"), headers }, jobs.settings);
        const result = await begin(lease.id);
        expect([result?.headers, String(result?.body), result?.rest]).to.deep.equal([headers, "short", undefined]);
      });

      it("is read at once if its headers fill the first piece, so that it never looks empty", async () => {
        await jobs.submit();
        const [task] = await jobs.reserve();
        const lease = { queue: "jobs", id: String(task?.id), fence: String(task?.fence) };
        const head = JSON.stringify({ s: 200, t: "text/plain", h: { "x-long": "" } }).length + 1;
        const headers = { "x-long": "y".repeat(pieceBytes - head) };
        await jobs.engine.leases.complete(lease, { ...answer("<p>page"), headers }, jobs.settings);
        const result = await begin(lease.id);
        expect([String(result?.body), result?.rest]).to.deep.equal(["<p>page", undefined]);
      });

      it("ends with an error if it is deleted or replaced in between, and never mixes two", async () => {
        for (const change of [(key: string) => jobs.redis.del(key), (key: string) => jobs.redis.append(key, "more")]) {
          const id = await completed(randomBytes(3 * pieceBytes));
          const result = await begin(id);
          await change(jobs.keys.value("result", 0, id));
          const failed = await bodyOf(result).catch((error: unknown) => error);
          expect(failed).to.be.instanceOf(ProblemError).and.to.include({ code: "expired" });
        }
      });

      it("is what a caller in the process of the worker gets as well", async () => {
        const id = "waited-for";
        const wait = new Wait({ id, queue: "jobs" }, jobs.engine);
        await jobs.engine.submitter.submit(submissionOf(id, "jobs", "{}"), jobs.settings, true);
        const ended = wait.outcome(Date.now() + 60_000, true);
        const [task] = await jobs.reserve();
        await jobs.engine.leases.complete(
          { queue: "jobs", id, fence: String(task?.fence) },
          answer("x".repeat(1e6)),
          jobs.settings,
        );
        const { end } = await ended;
        wait.stop();
        expect(end?.result?.rest?.bytes).to.be.above(1e6 - pieceBytes);
      });
    });

    it("is written on a connection of its own", async () => {
      const failed = async (body: string) => {
        const lease = await taken();
        const failure = {
          kind: "retry",
          delayMs: 0,
          error: "boom",
          code: "task-failed",
          result: answer(body),
        } as const;
        expect(await jobs.engine.leases.fail(lease, failure, { ...jobs.settings, attempts: 1 })).to.equal("dead");
      };
      const updated = async (input: string) => {
        await jobs.submit({ id: "waits" });
        const submission = submissionOf("waits", "jobs", input);
        expect(await jobs.engine.submitter.update(submission, jobs.settings)).to.equal("updated");
      };
      const [short, long] = ["x".repeat(LONG - 1), "x".repeat(LONG)];
      await completed("x".repeat(LONG / 2));
      await failed("x".repeat(LONG / 2));
      await jobs.submit({ input: short });
      await updated(short);
      expect(large.writes).to.deep.equal([]);
      await completed(long);
      await failed(long);
      await jobs.submit({ input: long });
      await updated(long);
      expect(large.writes).to.deep.equal(["complete", "fail", "submit", "update"]);
    });
  });

  describe("as an input", () => {
    const input = JSON.stringify("排".repeat(100_000));
    const request = { queue: "jobs", worker: "w1", count: 3, leaseMs: 15_000, rate: undefined };

    it("is read separately; short inputs come with the reservation", async () => {
      await jobs.submit({ id: "short", input: '"short"' });
      await jobs.submit({ id: "medium", input: JSON.stringify("m".repeat(10_000)) });
      await jobs.submit({ id: "long", input });
      const { tasks } = await jobs.engine.leases.reserve({ ...request, reservation: "r1" });
      expect(tasks.map((task) => [task.id, task.input?.length, task.inputBytes])).to.deep.equal([
        ["short", 7, 0],
        ["medium", 10_002, 0],
        ["long", undefined, Buffer.byteLength(input)],
      ]);
      expect(large.reads).to.deep.equal([]);
      const inputs = await Promise.all(tasks.map((task) => jobs.engine.values.inputOf(task, "jobs")));
      expect(inputs[2]?.toString() === input).to.equal(true);
      expect(large.reads).to.deep.equal(["b:long"]);
    });

    it("is included again in a resent reservation", async () => {
      await jobs.submit({ id: "long", input });
      const first = await jobs.engine.leases.reserve({ ...request, reservation: "r1" });
      const again = await jobs.engine.leases.reserve({ ...request, reservation: "r1" });
      // What a repetition cannot know, it assumes: that the task has just come, and that somebody hears of its end.
      expect(again.tasks).to.deep.equal(first.tasks.map((task) => ({ ...task, stoodMs: 0, announced: true })));
    });

    it("is reported as gone if the store no longer has it", async () => {
      await jobs.submit({ id: "long", input });
      await jobs.redis.del(jobs.keys.value("input", 0, "long"));
      const { tasks } = await jobs.engine.leases.reserve({ ...request, reservation: "r1" });
      expect(tasks.map((task) => [task.input, task.inputBytes])).to.deep.equal([[null, 0]]);
      expect(await Promise.all(tasks.map((task) => jobs.engine.values.inputOf(task, "jobs")))).to.deep.equal([null]);
    });
  });

  it("keeps its place among the other lines of a batch", async () => {
    const lines = Array.from({ length: 12 }, (_, n) => JSON.stringify("x".repeat(n % 3 === 1 ? LONG : 10)));
    expect(await batch(jobs, lines)).to.deep.equal(lines.map((_, n) => n));
    expect(large.writes, "calls").to.deep.equal(["submit", "submit"]);
  });
});
