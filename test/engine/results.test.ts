import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { SHARED } from "../../src/store/constants.ts";
import { TASK_FIELDS } from "../../src/store/fields.ts";
import { scriptsOf } from "../../src/store/library/scripts.ts";
import { encodeResult } from "../../src/store/task/record.ts";
import type { Answer } from "../../src/task.ts";
import { openEngine, type TestEngine } from "../helpers/engine.ts";

const PARTS = [TASK_FIELDS.result, TASK_FIELDS.result2, TASK_FIELDS.result3, TASK_FIELDS.result4].map(
  ([field]) => field,
);

const answerOf = (body: string, contentType = "application/json"): Answer => ({
  ...{ status: 200, contentType, headers: {} },
  body,
});

describe("the result of a task in the store", () => {
  let jobs: TestEngine;
  afterEach(() => jobs.close());

  const inHash = async (id: string) =>
    (await jobs.redis.hmget(jobs.key("task", id), ...PARTS)).filter((part) => part !== null);

  /** Runs a task to its end; returns its id. */
  async function succeed(answer: Answer): Promise<string> {
    const id = `result-${Math.random().toString(36).slice(2)}`;
    await jobs.submit({ id });
    const [task] = await jobs.reserve();
    const lease = { queue: "jobs", id, fence: task?.fence ?? "" };
    expect(await jobs.engine.leases.complete(lease, answer, jobs.settings)).to.equal("done");
    return id;
  }

  it("is in the task's hash if it is short, else in its own Redis key", async () => {
    jobs = await openEngine();
    for (const length of [1, 63, 64, 65, 128, 200, 255, 256, 257, 1000]) {
      const answer = answerOf("x".repeat(length - encodeResult(answerOf("")).length));
      const id = await succeed(answer);
      expect((await jobs.look(id)).result?.body.toString(), `${length} B`).to.equal(answer.body);
      const isInHash = length <= SHARED.inlineResultBytes;
      expect(await jobs.redis.exists(jobs.key("result", id)), `${length} B`).to.equal(isInHash ? 0 : 1);
      expect(await inHash(id), `${length} B`).to.have.length(isInHash ? Math.ceil(length / 64) : 0);
    }
  });

  it("is not returned after RESULT_TTL, and expires in the hash if the store supports that", async () => {
    jobs = await openEngine({ settings: { resultTtlMs: 30 } });
    const id = await succeed(answerOf("x".repeat(100)));
    const expiresMs = (await jobs.look(id)).expiresMs ?? 0;
    let seen = await jobs.look(id);
    while (seen.nowMs < expiresMs) {
      await delay(5);
      seen = await jobs.look(id);
    }
    expect(seen).to.include({ state: "succeeded", expired: true, result: null });
    const canExpireFields = (await jobs.redis.call("COMMAND", "INFO", "hpexpire")) as unknown[];
    expect(await inHash(id)).to.have.length(canExpireFields[0] === null ? 2 : 0);
  });

  it("always has its own Redis key with STRICT_RESULT_TTL, but is read from both places", async () => {
    jobs = await openEngine();
    const before = await succeed(answerOf("1"));
    const { complete } = scriptsOf(jobs.redis, { strictResultTtl: true });
    jobs.scripts.complete = complete;
    const id = await succeed(answerOf("2"));
    expect(await jobs.redis.exists(jobs.key("result", id))).to.equal(1);
    expect(await jobs.redis.pttl(jobs.key("result", id))).to.be.within(1, jobs.settings.resultTtlMs);
    expect(await inHash(id)).to.deep.equal([]);
    expect((await jobs.look(before)).result?.body.toString()).to.equal("1");
    expect((await jobs.look(id)).result?.body.toString()).to.equal("2");
  });
});
