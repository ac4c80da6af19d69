import { expect } from "chai";
import type { SubmissionVerdict } from "../../../src/engine/tasks/submit.ts";
import { groupRefusal } from "../../../src/extras/groups/batch-group.ts";
import { refusalOf, tooMany } from "../../../src/http/submit/refusal.ts";
import { taskLinks } from "../../../src/http/task/links.ts";
import type { QueueSnapshot } from "../../../src/store/line/snapshot.ts";
import { serviceTimes } from "../../shared/service-times.ts";

/** One slot, with 4 s a task. */
const SNAPSHOT = {
  ...{ queue: "jobs", waiting: 7, scheduled: 2, running: 1, paused: false, resting: false, workers: 1, slots: 1 },
  ...serviceTimes(4000, 0, 50),
  agesMs: [],
} satisfies QueueSnapshot;
/** Of three tasks that wait, the first is the second in line. */
const FIRST = { state: "waiting", index: 1, dueInMs: null, turn: null } as const;

const refusal = (verdict: Partial<SubmissionVerdict>, byKey = false) => {
  const all = { verdict: "new", index: 6, snapshot: SNAPSHOT, createdMs: 5, durable: true, ...verdict };
  const linksTo = ({ id, caller }: { id: string; caller: string | null }) => taskLinks(id, `?signed=${id}.${caller}`);
  return refusalOf({ id: "a", queue: "jobs", caller: "ann" }, all as SubmissionVerdict, { byKey, linksTo });
};
const full = { queue: "paihao.webhooks" };

/** What the tables of the contract do not show: when to come again, and what is told of others. */
describe("the refusal of a submission", () => {
  const reached = { limit: 3, waiting: 3, running: 1, first: FIRST };
  for (const [why, error, code, extensions, retryAfterS] of [
    ["it is not stored as durably as asked", refusal({ durable: false }), "not-durable", { id: "a", queue: "jobs" }],
    ["the id is taken", refusal({ verdict: "elsewhere" }), "id-conflict", { id: "a" }],
    ["the key is taken", refusal({ verdict: "conflict" }, true), "idempotency-conflict", { id: "a" }],
    ["the id is another caller's", refusal({ verdict: "foreign" }), "id-conflict", {}],
    ["the group is another caller's", groupRefusal("g", "foreign"), "id-conflict", {}],
    ["the group is closed", groupRefusal("g", "closed"), "id-conflict", { id: "g" }],
    ["webhooks wait", refusal({ verdict: "webhooks-full" }), "queue-full", full, [5, 5]],
    ["webhooks wait, of a group", groupRefusal("g", "webhooks-full"), "queue-full", full, [5, 5]],
    [
      "the queue is full",
      refusal({ verdict: "full" }),
      "queue-full",
      { queue: "jobs", waiting: 7, scheduled: 2 },
      [4, 4],
    ],
    ["the line is long", refusal({ verdict: "long" }), "line-too-long", undefined, [20, 36]],
    ["a caller has many", tooMany("jobs", reached, SNAPSHOT), "too-many-tasks", undefined, [4, 9]],
    ["it is paused, too", tooMany("jobs", reached, { ...SNAPSHOT, paused: true }), "too-many-tasks", undefined, [5, 5]],
    ["no figures are known", tooMany("jobs", undefined, SNAPSHOT), "too-many-tasks", { queue: "jobs" }],
  ] as const) {
    it(`says so if ${why}`, () => {
      expect(error).to.include({ code });
      if (extensions) expect(error?.extensions ?? {}).to.deep.equal(extensions);
      if (code === "id-conflict" && !("id" in (extensions ?? {}))) expect(error?.message).not.to.match(/input|group/);
      if (code === "not-durable") expect(error?.headers).to.deep.equal({ Location: "/v1/requests/a?signed=a.ann" });
      if (retryAfterS) expect(error?.retryAfterS).to.be.within(retryAfterS[0], retryAfterS[1]);
    });
  }
});
