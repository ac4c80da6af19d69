import { expect } from "chai";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import type { GroupInspection } from "../../../src/extras/groups/group-inspection.ts";
import { type DeliveryParts, deliverer, RETRIES } from "../../../src/extras/webhooks/delivery.ts";
import { RECEIVER_LIMITS } from "../../../src/extras/webhooks/receivers.ts";
import type { Handler } from "../../../src/handler/define.ts";
import { isGiveUp, RetryAfter, RetryLater } from "../../../src/handler/intents.ts";
import type { TaskContext } from "../../../src/handler/task-context.ts";
import { createLog } from "../../../src/log.ts";
import { AddressGuard, parseAllowList } from "../../../src/net/ssrf-guard.ts";
import { STATE_LETTERS } from "../../../src/store/fields.ts";
import type { StoredGroupEnd, StoredTaskEnd } from "../../../src/store/task/follow.ts";
import { type InSpan, SPANS } from "../../../src/trace/tracing.ts";
import { reservePort } from "../../shared/ports.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const ENDED_MS = Date.UTC(2026, 0, 2);
const MINUTE_MS = 60_000;

describe("an attempt to deliver an event", () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const SEEN = { id: "a", state: "succeeded", finishedMs: ENDED_MS, expired: false, expiresMs: null, nowMs: ENDED_MS };
  const GROUP = { ...SEEN, id: "g", state: "done" };

  /** The parts of a handler, for a task or a group as it is now. */
  const partsOf = (seen: object | null): DeliveryParts => ({
    guard: new AddressGuard(parseAllowList(["127.0.0.1"]), { plainHttp: "listed" }),
    secrets: [],
    look: async () => seen as Inspection | null,
    describe: ({ id }) => ({ id, of: "the task" }),
    lookAtGroup: async () => seen as GroupInspection | null,
    describeGroup: ({ id }) => ({ id, of: "the group" }),
  });
  interface Given {
    readonly seen?: object | null;
    readonly parts?: Partial<DeliveryParts>;
    readonly url?: string;
    readonly isGroup?: boolean;
    /** An event that is stored already. */
    readonly stored?: string;
    readonly inSpan?: InSpan;
    /** Default: one with these parts, and a pause of a second. */
    readonly handler?: Handler<StoredTaskEnd | StoredGroupEnd>;
  }
  /** Makes an attempt; returns what it throws, and the event that is stored then. */
  const attempt = async (given: Given = {}) => {
    const { isGroup = false, url = receiver.url } = given;
    const { seen = isGroup ? GROUP : SEEN, parts } = given;
    const { handler = deliverer({ ...partsOf(seen), pauseMs: () => 1000, ...parts }) } = given;
    let { stored } = given;
    const task = {
      ...{ id: "a:webhook:1", attempt: 3, submittedAt: new Date(ENDED_MS), log: createLog("silent") },
      ...{ signal: new AbortController().signal, traceHeaders: { traceparent: "t" }, [SPANS]: given.inSpan },
      step: async (_: string, make: () => string) => {
        stored ??= make();
        return stored;
      },
    } as unknown as TaskContext;
    const end: StoredTaskEnd | StoredGroupEnd = isGroup
      ? { group: "g", state: "done", url }
      : { id: "a", state: STATE_LETTERS.succeeded, url };
    const thrown: unknown = await Promise.resolve(handler.run(end, task)).then(
      () => undefined,
      (error: unknown) => error,
    );
    return { thrown, stored };
  };
  const pauseOf = (thrown: unknown) => (thrown instanceof RetryAfter ? thrown.afterMs : thrown);

  it("succeeds with any status of 2xx, ends for good with 410, and is repeated after all others", async () => {
    for (const [status, outcome] of [
      [200, "delivered"],
      [299, "delivered"],
      [300, "the receiver answered 300: redirects are not followed"],
      [399, "the receiver answered 399: redirects are not followed"],
      [400, "the receiver answered 400"],
      [500, "the receiver answered 500"],
      [410, "given up"],
    ] as const) {
      receiver.answers(() => status);
      const { thrown } = await attempt();
      const failed = isGiveUp(thrown) ? "given up" : thrown instanceof RetryAfter && thrown.message;
      expect(thrown === undefined ? "delivered" : failed, String(status)).to.equal(outcome);
    }
  });

  it("is repeated when the receiver and the pauses allow it, but at most some hours later", async () => {
    for (const [retryAfter, usualMs, pauseMs] of [
      ["7", 1000, 7000],
      ["7", 8000, 8000],
      ["999999", 1000, RETRIES.longestRetryAfterMs],
      ["soon", 1000, 1000],
    ] as const) {
      receiver.answers((_, res) => {
        res.writeHead(503, { "Retry-After": retryAfter }).end();
        return undefined;
      });
      const { thrown } = await attempt({ parts: { pauseMs: () => usualMs } });
      expect(pauseOf(thrown), retryAfter).to.equal(pauseMs);
    }
  });

  it("is repeated after the usual pause if the receiver cannot be reached, for the reason that the error names", async () => {
    const url = `http://127.0.0.1:${await reservePort()}/`;
    const { thrown } = await attempt({ url, handler: deliverer(partsOf(SEEN)) });
    // Twice as long as before the second attempt, and again.
    expect(pauseOf(thrown)).to.be.within(0.8 * 4 * RETRIES.baseMs, 1.2 * 4 * RETRIES.baseMs);
    expect(thrown).to.have.property("message").that.includes("ECONNREFUSED");
    expect(thrown).to.have.property("cause").that.is.instanceOf(Error);
  });

  it("sends another form of the event if there is one, while the task is as it ended", async () => {
    const parts = { otherBody: ({ id }: Inspection) => JSON.stringify({ other: id }) };
    await attempt({ parts });
    await attempt({ parts, seen: { ...SEEN, state: "running" } });
    await attempt({ parts, seen: { ...SEEN, finishedMs: (SEEN.finishedMs ?? 0) + 1 } });
    await attempt({ parts, seen: null });
    await attempt({ parts: { otherBody: () => undefined } });
    expect(receiver.received.map(({ json }) => json.other ?? json.type)).to.deep.equal([
      ...["a", "task.succeeded", "task.succeeded", "task.succeeded", "task.succeeded"],
    ]);
  });

  it("stores the event once it cannot be built as before, and then sends what is stored", async () => {
    for (const isGroup of [false, true]) {
      const as = isGroup ? GROUP : SEEN;
      const otherwise = isGroup ? "open" : "running";
      for (const seen of [
        null,
        { ...as, state: otherwise },
        { ...as, finishedMs: ENDED_MS + 1 },
        { ...as, expired: true },
      ]) {
        const label = JSON.stringify([isGroup, seen]);
        const first = await attempt({ isGroup, seen });
        expect(first.stored, label).to.equal(receiver.received.at(-1)?.body);
        await attempt({ isGroup, seen, stored: '"stored before"' });
        expect(receiver.received.at(-1)?.json, label).to.equal("stored before");
      }
      expect((await attempt({ isGroup })).stored).to.equal(undefined);
    }
  });

  it("stores the event before a pause that its task or group may not outlast", async () => {
    receiver.answers(() => 503);
    for (const isGroup of [false, true]) {
      const as = isGroup ? GROUP : SEEN;
      for (const [lastsMs, isStored] of [
        [MINUTE_MS + 999, true],
        [MINUTE_MS + 1000, false],
        [undefined, false],
      ] as const) {
        const expiresMs = lastsMs === undefined ? null : ENDED_MS + lastsMs;
        const { stored } = await attempt({ isGroup, seen: { ...as, expiresMs } });
        expect(stored !== undefined, `${isGroup} ${lastsMs}`).to.equal(isStored);
      }
    }
  });

  it("is put off without a request while its receiver has no slot, and the event is stored if it does not last", async () => {
    const gates: (() => void)[] = [];
    receiver.answers((_, res) => {
      gates.push(() => res.writeHead(204).end());
      return undefined;
    });
    const handler = deliverer(partsOf({ ...SEEN, expiresMs: ENDED_MS + 1 }));
    const running = Array.from({ length: RECEIVER_LIMITS.maxOfOne }, () => attempt({ handler }));
    await receiver.count(RECEIVER_LIMITS.maxOfOne);
    const { thrown, stored } = await attempt({ handler });
    expect(thrown).to.be.instanceOf(RetryLater).with.property("afterMs").that.is.above(0);
    expect(stored).to.be.a("string");
    expect(receiver.received).to.have.length(RECEIVER_LIMITS.maxOfOne);
    for (const open of gates) open();
    for (const one of await Promise.all(running)) expect(one.thrown).to.equal(undefined);
    receiver.answers(() => 204);
    expect((await attempt({ handler })).thrown).to.equal(undefined);
  });
});
