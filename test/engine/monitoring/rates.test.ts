import { expect } from "chai";
import { RATE_LETTERS } from "../../../src/store/fields.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

const [BUCKET_MS, BUCKETS] = [10_000, 7];

describe("the rates of a queue", () => {
  let t: TestEngine;
  afterEach(() => t.close());

  it("count exactly the last sixty seconds, not all of the oldest interval", async () => {
    t = await openEngine();
    const nowMs = async () => {
      const [seconds, micros] = await t.redis.time();
      return Number(seconds) * 1000 + Number(micros) / 1000;
    };
    const earlier = await nowMs();
    const bucket = Math.floor(earlier / BUCKET_MS);
    // A thousand in every interval of ten seconds, with this one just begun.
    for (let n = 0; n < BUCKETS; n += 1) {
      const field = `${RATE_LETTERS.accepted}${(bucket - n) % BUCKETS}`;
      await t.redis.hset(t.key("queue"), field, (bucket - n) * 2 ** 24 + (n === 0 ? 0 : 1000));
    }
    const [row] = await t.engine.queues.figures(["jobs"]);
    const later = await nowMs();
    // The sooner in the interval, the more of the oldest one counts; if the next one has begun, that is left out.
    const max = 6000 - 1000 * ((earlier % BUCKET_MS) / BUCKET_MS);
    const passed = (later - earlier) / 10;
    expect(row?.acceptedLastMinute).to.be.within(max - passed - 1, max + 1);
  });
});
