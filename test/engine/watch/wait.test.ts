import { expect } from "chai";
import type { Inspection } from "../../../src/engine/watch/inspect.ts";
import type { NoticeListener } from "../../../src/engine/watch/notices.ts";
import { Wait } from "../../../src/engine/watch/wait.ts";
import type { Notice } from "../../../src/store/task/notices.ts";

type Parts = ConstructorParameters<typeof Wait>;

const TASK = { id: "a", queue: "jobs" };
const LATER = () => Date.now() + 60_000;

describe("a wait for the end of a task", () => {
  let tell: NoticeListener;
  let reads: number;
  /** What a read finds. */
  let stored: Partial<Inspection> | null;
  /** Called in each read. */
  let onRead: (attends: boolean) => void;
  beforeEach(() => {
    [reads, stored] = [0, { state: "waiting" }];
    onRead = () => undefined;
  });

  const waitFor = (ready: Promise<void> | null = null) => {
    const inspector = {
      inspect: async (_id: string, { attends }: { attends?(task: unknown): boolean }) => {
        reads += 1;
        const seen = stored;
        onRead(attends?.(seen) ?? false);
        return seen;
      },
    };
    const notices = {
      listen: (_id: string, listener: NoticeListener) => {
        tell = listener;
        return { ready, stop: () => undefined };
      },
    };
    return new Wait(TASK, { inspector, notices } as unknown as Parts[1]);
  };
  const ended = (end: Partial<Notice["end"] & object> | null): Notice =>
    ({ id: "a", ended: true, output: false, end }) as Notice;
  const succeeded = { state: "succeeded", attempts: 2, finishedMs: 5, expiresMs: 9, result: null } as const;

  it("returns the end that a notice had before it was asked for", async () => {
    const wait = waitFor();
    tell(ended(succeeded));
    expect((await wait.outcome(LATER(), true)).end?.state).to.equal("succeeded");
    expect((await wait.outcome(LATER(), false)).end?.state).to.equal("succeeded");
    expect(reads).to.equal(0);
  });

  for (const [how, notice] of [
    ["has no room for it", ended(null)],
    ["may have been missed", null],
  ] as const) {
    it(`reads the task if a notice of its end ${how}`, async () => {
      const outcome = waitFor().outcome(LATER(), true);
      stored = { state: "failed" };
      tell(notice);
      expect(await outcome).to.deep.equal({ end: { state: "failed" } });
      expect(reads).to.equal(1);
    });
  }

  it("reads a task that was there before, at once and again after a change during the read", async () => {
    onRead = () => {
      if (reads > 1) return;
      stored = { state: "canceled" };
      tell(null);
    };
    expect(await waitFor().outcome(LATER(), false)).to.deep.equal({ end: { state: "canceled" } });
    expect(reads).to.equal(2);
  });

  it("listens before it reads", async () => {
    let open: () => void = () => undefined;
    const outcome = waitFor(
      new Promise((resolve) => {
        open = resolve;
      }),
    ).outcome(LATER(), true);
    await undefined;
    expect(reads).to.equal(0);
    stored = { state: "succeeded" };
    open();
    expect((await outcome).end?.state).to.equal("succeeded");
  });

  it("ends with the task as it is when the time is up", async () => {
    expect(await waitFor().outcome(Date.now() - 1, false)).to.deep.equal({ end: null, seen: stored });
    expect(await waitFor().outcome(Date.now() + 20, true)).to.deep.equal({ end: null, seen: stored });
    expect(await waitFor().outcome(Date.now() + 20, false)).to.deep.equal({ end: null, seen: stored });
  });

  it("ends when the caller leaves, whose last read no longer keeps the task", async () => {
    const attending: boolean[] = [];
    onRead = (attends) => attending.push(attends);
    for (const isNew of [true, false]) {
      const wait = waitFor();
      const outcome = wait.outcome(LATER(), isNew);
      // The first read, if there is one, is over.
      await new Promise((resolve) => setImmediate(resolve));
      wait.leave();
      expect(await outcome).to.deep.equal({ end: null, seen: stored });
    }
    const gone = waitFor();
    gone.leave();
    expect(await gone.outcome(LATER(), true)).to.deep.equal({ end: null, seen: stored });
    expect(attending).to.deep.equal([false, true, false, false]);
  });
});
