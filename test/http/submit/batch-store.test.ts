import { expect } from "chai";
import { BUSY_MS } from "../../helpers/busy.ts";
import { openBatch } from "../../helpers/http/batch.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";

/** The API promises an answer within this time while the store is away. */
const WITHIN_MS = 5000 + BUSY_MS;

describe("a batch whose store goes down", () => {
  let redis: PrivateRedis;
  let server: TestServer;
  before(async () => {
    redis = await startRedis({ args: ["--appendonly", "yes"] });
    server = await startServer({ REDIS_URL: redis.url });
  });
  after(async () => {
    await server.stop();
    await redis.stop();
  });

  it("answers each line within 5 s with a problem and the id to submit again under, and ends normally", async () => {
    const batch = openBatch(server.url, "/v1/queues/later/batches?delay=3600");
    batch.write("0\n1\n");
    expect(await batch.next()).to.have.property("id");
    expect(await batch.next()).to.have.property("id");
    await redis.stop("SIGKILL");
    const stopped = performance.now();
    batch.end("2\n".repeat(3000));
    for (let line = 2; line < 3002; line += 1) {
      const verdict = await batch.next();
      expect(verdict.line).to.equal(line);
      expect(verdict.problem).to.include({ type: "/problems/store-unavailable", status: 503 });
      expect(verdict.problem.id).to.match(/^[0-9a-f-]{36}$/);
    }
    expect(await batch.next()).to.equal(undefined);
    expect(performance.now() - stopped).to.be.below(WITHIN_MS);
    await redis.restart();
  });
});
