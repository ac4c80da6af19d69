import { expect } from "chai";
import type { AbortCause, HandlerEnd } from "../../src/engine/attempt/attempt-end.ts";
import type { Attempt } from "../../src/workers/attempt/attempt.ts";
import { BatchCalls, type BatchCallsParts } from "../../src/workers/batch-calls.ts";
import type { Place } from "../../src/workers/place.ts";
import { deferred } from "../helpers/deferred.ts";
import { eventually } from "../shared/eventually.ts";

/** Only what a call uses of an attempt. */
class FakeAttempt {
  aborted: AbortCause | undefined;
  waitedMs = 0;
  readonly #listeners: (() => void)[] = [];

  abort(cause: AbortCause): void {
    this.aborted = cause;
    for (const listener of this.#listeners) listener();
  }

  whenAborted(listener: () => void): void {
    this.#listeners.push(listener);
    if (this.aborted !== undefined) listener();
  }
}

/** Calls of one slot, the next of which is filled at once, and given up after so long. */
function open(giveUpAfterMs: number, more: Partial<BatchCallsParts> = {}) {
  const calls: { readonly size: number; readonly end: ReturnType<typeof deferred<HandlerEnd>> }[] = [];
  const asked = deferred();
  let free = 1;
  const slot = (): Place => ({
    settled: () => {
      free += 1;
      all.slotFreed();
    },
    over: () => undefined,
  });
  const all: BatchCalls = new BatchCalls({
    batch: { max: 2, waitMs: 0 },
    takeSlot: () => {
      if (free === 0) return undefined;
      free -= 1;
      return slot();
    },
    execute: (attempts) => {
      const end = deferred<HandlerEnd>();
      calls.push({ size: attempts.length, end });
      return attempts.map(() => end.promise);
    },
    hasWork: () => true,
    onRoom: () => asked.resolve(),
    times: { add: () => undefined, earlyFill: { askAfterMs: 1, giveUpAfterMs } },
    ...more,
  });
  /** Lets another task join. */
  const join = () => {
    const attempt = new FakeAttempt();
    const place = all.join();
    const end = place?.execute?.(attempt as unknown as Attempt);
    return { attempt, place, end };
  };
  return { all, calls, asked: asked.promise, join };
}

const DONE: HandlerEnd = { kind: "permanent", message: "the end of a call" };
const LONG_MS = 5000;

describe("calls that are filled early", () => {
  it("begin when the one before has ended, before its ends are stored", async () => {
    const { all, calls, asked, join } = open(LONG_MS);
    const first = [join(), join()];
    expect(all.room, "while it is uncertain when the first one ends").to.equal(0);
    expect(join().place).to.equal(undefined);
    await asked;
    expect(all.room).to.equal(2);
    const [third, fourth] = [join(), join()];
    expect(all.room).to.equal(0);
    expect(calls).to.have.length(1);
    calls[0]?.end.resolve(DONE);
    await Promise.all(first.map(({ end }) => end));
    await eventually(() => calls.length === 2);
    expect(calls[1]?.size).to.equal(2);
    calls[1]?.end.resolve(DONE);
    expect(await third.end).to.equal(DONE);
    expect(third.attempt.waitedMs).to.be.above(0);
    expect(await fourth.end).to.equal(DONE);
  });

  it("take more tasks until there is a slot", async () => {
    const { calls, asked, join } = open(LONG_MS);
    join();
    await eventually(() => calls.length === 1);
    await asked;
    join();
    await Promise.resolve();
    join();
    calls[0]?.end.resolve(DONE);
    await eventually(() => calls.length === 2);
    expect(calls[1]?.size).to.equal(2);
  });

  it("have one task where that must run alone: it would never get a slot if only early calls got tasks", async () => {
    const { all, calls, asked, join } = open(LONG_MS);
    join();
    expect(all.alone()).to.equal(undefined);
    await asked;
    const suspect = all.alone();
    void suspect?.execute?.(new FakeAttempt() as unknown as Attempt);
    expect(all.room).to.equal(0);
    expect(join().place).to.equal(undefined);
    calls[0]?.end.resolve(DONE);
    await eventually(() => calls.length === 2);
    expect(calls[1]?.size).to.equal(1);
    calls[1]?.end.resolve(DONE);
  });

  it("return their tasks if the one before takes much longer than usual, and are not filled again", async () => {
    const { all, calls, asked, join } = open(20);
    join();
    await asked;
    const late = join();
    expect(await late.end).to.deep.equal({ kind: "overdue" });
    expect(late.attempt.aborted).to.equal("shutdown");
    late.place?.settled();
    late.place?.over();
    expect([all.room, calls.length]).to.deep.equal([0, 1]);
    calls[0]?.end.resolve(DONE);
    await eventually(() => join().place !== undefined);
    await eventually(() => calls.length === 2);
  });

  it("return their tasks when the worker stops, also those whose inputs are being read", async () => {
    const { all, calls, asked, join } = open(LONG_MS);
    join();
    await asked;
    const read = join();
    const place = all.join();
    all.stop();
    const reading = new FakeAttempt();
    expect(await place?.execute?.(reading as unknown as Attempt)).to.deep.equal({ kind: "overdue" });
    expect(await read.end).to.deep.equal({ kind: "overdue" });
    expect([read.attempt.aborted, reading.aborted]).to.deep.equal(["shutdown", "shutdown"]);
    calls[0]?.end.resolve(DONE);
    expect(calls).to.have.length(1);
  });

  it("are not filled if nothing is known to wait", async () => {
    let looked = 0;
    const { all, calls, join } = open(LONG_MS, {
      hasWork: () => {
        looked += 1;
        return false;
      },
    });
    join();
    await eventually(() => looked > 0);
    expect(all.room).to.equal(0);
    calls[0]?.end.resolve(DONE);
  });
});
