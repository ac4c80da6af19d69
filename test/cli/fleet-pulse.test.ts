import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { isRunning } from "../../src/store/servers/native/process-identity.ts";
import { builtCommand } from "../helpers/build.ts";
import { compileHandlers } from "../helpers/compiled-handlers.ts";
import { exchange } from "../helpers/http/server.ts";
import { processGone } from "../helpers/process.ts";
import { endProcesses, type ServerProcess, startProcess } from "../helpers/server-process.ts";
import { uniquePrefix } from "../helpers/store/run-store.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

/** The processes of a server take a second of CPU each to start, and on a machine with much to do many times as long. */
const PATIENCE_MS = 90_000;
const SILENT_MS = 5000;

/** Two processes for requests, and one for tasks. */
describe("the processes of a fleet", function () {
  this.timeout(3 * PATIENCE_MS);
  let dir: string;
  let fleet: ServerProcess;
  before(async function () {
    if (process.platform !== "linux") this.skip();
    dir = await mkdtemp(path.join(tmpdir(), "paihao-pulse-"));
    compileHandlers(path.join(ROOT, "test/fixtures/handlers/blocking"), dir);
    builtCommand();
    const env = { KEY_PREFIX: uniquePrefix(), HANDLERS: dir, PORT: "0", WEB_CONCURRENCY: "2", LEASE: "2s" };
    const command = [path.join(ROOT, "test/fixtures/impatient-fleet.mjs")];
    fleet = await startProcess({ ...env, SILENT_MS: String(SILENT_MS) }, command);
  });
  after(async () => {
    if (fleet) await endProcesses([fleet]);
    if (dir) await rm(dir, { recursive: true });
  });

  const post = (queue: string, body: unknown = 1) =>
    exchange(new URL(`/v1/queues/${queue}/requests`, fleet.url), { method: "POST", body });
  const scrape = async () => (await exchange(new URL("/metrics", fleet.url))).text.split("\n");
  const figure = (lines: readonly string[], series: string) => {
    const found = lines.filter((line) => line.startsWith(`${series} `));
    expect(found, series).to.have.length(1);
    return Number(found[0]?.slice(series.length));
  };
  const SUBMITTED = 'paihao_submissions_total{queue="plain",verdict="new"}';
  const DONE = 'paihao_attempts_total{queue="plain",ending="done"}';
  const restarts = async (cause: string) => {
    const lines = await scrape();
    return ["api-1", "api-2", "worker"].map((member) =>
      figure(lines, `paihao_fleet_restarts_total{member="${member}",cause="${cause}"}`),
    );
  };
  /** The one that runs tasks; one that has ended may be listed for a while. */
  const worker = () =>
    eventually(async () => {
      const { json } = await exchange(new URL("/v1/workers", fleet.url));
      return json.items.find(({ pid }: { pid: number }) => isRunning(pid))?.pid ?? false;
    }) as Promise<number>;
  /** Waits until the one that ran tasks is gone, and another one does. */
  const replaced = async (pid: number) => {
    await processGone(pid);
    expect((await post("plain")).status).to.equal(200);
  };

  it("are measured together, including the one for tasks, whichever answers", async () => {
    const submit = async () => (await post("plain")).status;
    expect(await Promise.all(Array.from({ length: 10 }, submit))).to.deep.equal(new Array(10).fill(200));
    for (const lines of await Promise.all([scrape(), scrape(), scrape(), scrape()])) {
      expect(figure(lines, SUBMITTED)).to.equal(10);
      expect(figure(lines, DONE)).to.equal(10);
      expect(figure(lines, 'paihao_queue_workers{queue="plain"}')).to.equal(1);
    }
  });

  it("keep their sums when one of them ends", async () => {
    const before = figure(await scrape(), DONE);
    const pid = await worker();
    process.kill(pid, "SIGKILL");
    await processGone(pid);
    expect(figure(await scrape(), DONE)).to.equal(before);
    await replaced(pid);
    await eventually(async () => expect(figure(await scrape(), DONE)).to.equal(before + 1));
    expect(await restarts("ended")).to.deep.equal([0, 0, 1]);
  });

  it("are replaced when they are stopped", async () => {
    const pid = await worker();
    process.kill(pid, "SIGSTOP");
    await replaced(pid);
    expect(await restarts("silent")).to.deep.equal([0, 0, 1]);
    expect(fleet.logged.join("\n")).to.contain("does not respond");
  });

  it("are replaced when a handler blocks their event loop, and its task goes on", async () => {
    const file = path.join(dir, "blocked");
    const pid = await worker();
    const before = await restarts("silent");
    const answer = await post("blocking", { file });
    expect(answer.json).to.equal("not again");
    await replaced(pid);
    expect(await restarts("silent")).to.deep.equal([before[0], before[1], (before[2] ?? 0) + 1]);
  });

  it("are left alone when their parent stood still", async () => {
    const children = () => readFileSync(`/proc/${fleet.pid}/task/${fleet.pid}/children`, "utf8");
    const before = [children(), await restarts("silent")];
    fleet.child.kill("SIGSTOP");
    // Longer than any of them may be silent.
    await delay(SILENT_MS + 2000);
    fleet.child.kill("SIGCONT");
    // It looks at them each second: it has done so when a task that was due later has ended.
    const later = await exchange(new URL("/v1/queues/plain/requests?delay=3", fleet.url), { method: "POST", body: 1 });
    expect(later.status).to.equal(200);
    expect([children(), await restarts("silent")]).to.deep.equal(before);
  });
});
