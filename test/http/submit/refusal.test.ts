import { expect } from "chai";
import type { Context } from "koa";
import type { LinkSigner } from "../../../src/auth/link-signer.ts";
import type { Submission } from "../../../src/engine/submission/submission.ts";
import type { SubmissionVerdict } from "../../../src/engine/submission/submit.ts";
import { groupRefusal } from "../../../src/extras/groups/batch-group.ts";
import { refusalOf, tooMany } from "../../../src/http/submit/refusal.ts";
import { checkAccepted } from "../../../src/http/submit/submission.ts";
import { openAccess } from "../../../src/http/task/access.ts";
import type { QueueSnapshot } from "../../../src/store/verbs/snapshot.ts";
import type { LimitReached } from "../../../src/store/verbs/submit.ts";

/** One slot, with 4 s a task. */
const SNAPSHOT = {
  ...{ queue: "jobs", waiting: 7, scheduled: 2, running: 1, paused: false, resting: false, workers: 1, slots: 1 },
  ...{ meanMs: 4000, variance: 0, samples: 50, misses: [], slowMeanMs: 4000, slowMisses: [], agesMs: [] },
} satisfies QueueSnapshot;

const SUBMISSION = { id: "a", queue: "jobs", caller: "ann" };
const verdictOf = (verdict: Partial<SubmissionVerdict>) =>
  ({ verdict: "new", index: 6, snapshot: SNAPSHOT, createdMs: 5, durable: true, ...verdict }) as SubmissionVerdict;
const sign = ({ id, caller, createdMs }: { id: string; caller: string | null; createdMs: number }) =>
  `?signed=${id}.${caller}.${createdMs}`;

const refusal = (verdict: Partial<SubmissionVerdict>, byKey = false) =>
  refusalOf(SUBMISSION, verdictOf(verdict), { byKey, signature: sign });

describe("the refusal of a submission", () => {
  it("is none once it is stored as durably as is asked for", () => {
    for (const verdict of ["new", "replay"] as const) {
      expect(refusal({ verdict })).to.equal(undefined);
    }
  });

  it("says where to look for a task that is stored, but not as durably as is asked for", () => {
    const error = refusal({ durable: false });
    expect(error).to.include({ code: "not-durable" });
    expect(error?.extensions).to.deep.equal({ id: "a", queue: "jobs" });
    expect(error?.headers).to.deep.equal({ Location: "/v1/requests/a?signed=a.ann.5" });
  });

  it("is thrown, with a link that the sender may use", () => {
    const access = openAccess({
      sign: (_: string, task: Parameters<typeof sign>[0]) => sign(task),
    } as unknown as LinkSigner);
    const request = {
      headers: { "idempotency-key": "k" },
      state: { access, route: { submits: "under the caller's key" } },
    };
    const check = (verdict: Partial<SubmissionVerdict>) =>
      checkAccepted(request as unknown as Context, SUBMISSION as Submission, verdictOf(verdict));
    check({});
    expect(() => check({ verdict: "conflict" }))
      .to.throw()
      .with.property("code", "idempotency-conflict");
    expect(() => check({ durable: false }))
      .to.throw()
      .with.deep.property("headers", { Location: "/v1/requests/a?signed=a.ann.5" });
  });

  it("names the id that is taken, by the caller's own task", () => {
    for (const verdict of ["conflict", "elsewhere"] as const) {
      expect(refusal({ verdict })).to.deep.include({ code: "id-conflict", extensions: { id: "a" } });
    }
    const byKey = refusal({ verdict: "conflict" }, true);
    expect(byKey).to.deep.include({ code: "idempotency-conflict", extensions: { id: "a" } });
  });

  it("tells nothing of the task of another caller, nor of their group", () => {
    for (const error of [refusal({ verdict: "foreign" }), groupRefusal("g", "foreign")]) {
      expect(error).to.include({ code: "id-conflict" });
      expect(error?.message ?? "").not.to.match(/input|group/);
      expect(error?.extensions ?? {}).to.deep.equal({});
    }
  });

  it("says how full the queue is, and when a place should be free", () => {
    const error = refusal({ verdict: "full" });
    expect(error).to.include({ code: "queue-full", retryAfterS: 4 });
    expect(error?.extensions).to.deep.equal({ queue: "jobs", waiting: 7, scheduled: 2 });
  });

  it("says how long the line is, and for how long", () => {
    const error = refusal({ verdict: "long" });
    expect(error).to.include({ code: "line-too-long" });
    expect(error?.extensions).to.deep.include({ queue: "jobs", index: 6 });
    const eta = error?.extensions?.eta as { seconds: number };
    expect(eta.seconds).to.be.above(4);
    expect(error?.retryAfterS).to.be.within(Math.floor(eta.seconds), Math.ceil(eta.seconds * 1.1));
  });

  it("blames the queue of webhooks if their deliveries wait, for a task and for a group", () => {
    for (const error of [refusal({ verdict: "webhooks-full" }), groupRefusal("g", "webhooks-full")]) {
      expect(error).to.deep.include({ code: "queue-full", extensions: { queue: "paihao.webhooks" }, retryAfterS: 5 });
    }
  });

  it("is a conflict if the group takes no more tasks", () => {
    expect(refusal({ verdict: "closed" })).to.include({ code: "id-conflict" });
    const group = groupRefusal("g", "closed");
    expect(group).to.deep.include({ code: "id-conflict", extensions: { id: "g" } });
  });
});

/** Of three tasks that wait, the first is the second in line. */
const REACHED: LimitReached = {
  ...{ limit: 3, waiting: 3, running: 1 },
  first: { state: "waiting", index: 1, dueInMs: null, turn: null },
};

describe("the refusal of one task more of a caller", () => {
  it("says how many wait, and when the first of them should start", () => {
    const { code, extensions, retryAfterS } = tooMany("jobs", REACHED, SNAPSHOT);
    expect(code).to.equal("too-many-tasks");
    expect(extensions).to.deep.equal({ queue: "jobs", limit: 3, waiting: 3, running: 1 });
    expect(retryAfterS).to.be.within(4, 9);
  });

  it("has a Retry-After without an estimate too", () => {
    const paused = { ...SNAPSHOT, paused: true };
    expect(tooMany("jobs", REACHED, paused).retryAfterS).to.equal(5);
  });

  it("names only the queue if the store did not say more", () => {
    for (const error of [tooMany("jobs", undefined, SNAPSHOT), refusal({ verdict: "too-many" })]) {
      expect(error).to.deep.include({ code: "too-many-tasks", extensions: { queue: "jobs" } });
    }
  });
});
