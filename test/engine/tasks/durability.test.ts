import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { readConfig } from "../../../src/config/config.ts";
import { type OpenedEngine, openEngine } from "../../../src/engine/upkeep/boot.ts";
import { defineHandler } from "../../../src/handler/define.ts";
import { createLog } from "../../../src/log.ts";
import { eventually } from "../../shared/eventually.ts";
import { type PrivateRedis, startRedis } from "../../shared/redis-server.ts";
import { submissionOf } from "../../shared/submission.ts";

const there = spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;
const suite = there ? describe : describe.skip;
const handler = defineHandler({ queue: "jobs", run: () => undefined });

suite(`DURABILITY=replica${there ? "" : " (left out: no redis-server on PATH)"}`, function () {
  this.timeout(60_000);
  let master: PrivateRedis;
  let replica: PrivateRedis;
  const opened: OpenedEngine[] = [];

  before(async () => {
    master = await startRedis();
    replica = await startRedis({
      args: ["--replicaof", "127.0.0.1", String(master.port), "--repl-diskless-sync-delay", "0"],
    });
  });
  after(async () => {
    for (const { close } of opened.splice(0)) close();
    await Promise.all([master?.stop("SIGKILL"), replica?.stop("SIGKILL")]);
  });

  const open = async () => {
    const config = readConfig({ REDIS_URL: master.url, DURABILITY: "replica" });
    const engine = await openEngine(config, master.url, [handler], createLog("silent"));
    opened.push(engine);
    return engine.engine;
  };

  it("is not confirmed by a process that only saw the task as a replay while the replica lags", async () => {
    const [one, two] = [await open(), await open()];
    const submit = async (engine: typeof one, id: string) => {
      const { verdict, durable } = await engine.submitter.submit(
        submissionOf(id, "jobs", "1"),
        engine.queues.settings("jobs"),
      );
      return [verdict, durable];
    };
    await eventually(async () => (await submit(one, `ready-${performance.now()}`))[1] === true);
    process.kill(replica.pid, "SIGSTOP");
    expect(await submit(one, "a")).to.deep.equal(["new", false]);
    // The caller got that answer and submits again, as it asks; another process answers.
    expect(await submit(two, "a")).to.deep.equal(["replay", false]);
    process.kill(replica.pid, "SIGCONT");
    await eventually(async () => (await submit(two, "a"))[1] === true);
  });
});
