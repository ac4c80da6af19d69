import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { loadHandlers } from "../../../src/handler/load.ts";
import { isRunning } from "../../../src/store/servers/native/data-lock.ts";
import { processGone } from "../../helpers/process.ts";
import { openProcesses } from "../../helpers/process-group.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";
import { eventually } from "../../shared/eventually.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/isolated");

describe("a program that a handler waits for in a child process", function () {
  this.timeout(60_000);
  let shop: Workshop;
  let dir: string;
  const programs: number[] = [];

  before(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-programs-"));
    shop = await openWorkshop([...(await loadHandlers(HANDLERS)).values()]);
  });
  after(async () => {
    await shop.close();
    await rm(dir, { recursive: true });
    for (const pid of programs.filter((one) => isRunning(one))) process.kill(pid, "SIGKILL");
  });

  /** Submits a task, and waits until its program runs. */
  const program = async (queue: string, deed = "runs a program", by = shop) => {
    const file = path.join(dir, randomUUID());
    const id = await by.submit(deed, { queue, query: { file } });
    let pid = 0;
    await eventually(async () => {
      pid = Number(await readFile(file, "utf8").catch(() => ""));
      return pid > 0;
    });
    programs.push(pid);
    expect(isRunning(pid)).to.equal(true);
    return { id, pid };
  };

  it("ends with the attempt: at the timeout, at a cancel, when its worker stops, and when the handler ends its process", async () => {
    const worker = await shop.worker({ handlersDir: HANDLERS });
    const late = await program("programs");
    expect(await shop.ended(late.id)).to.include({ state: "failed", errorCode: "task-timeout" });
    await processGone(late.pid);

    const canceled = await program("isolated");
    await shop.engine.call("cancel", { id: canceled.id, queue: "isolated" });
    expect((await shop.ended(canceled.id)).state).to.equal("canceled");
    await processGone(canceled.pid);

    const left = await program("isolated", "leaves a program");
    await processGone(left.pid);

    const stopped = await program("isolated");
    await worker.stop();
    await processGone(stopped.pid);
  });

  it("ends with its worker, also after SIGKILL", async () => {
    const group = await openProcesses("isolated", [...(await loadHandlers(HANDLERS)).values()], { timeless: true });
    try {
      const server = await group.start({ ROLE: "worker" });
      const { pid } = await program("isolated", "runs a program", group.shop);
      await group.kill(server);
      await processGone(pid);
    } finally {
      await group.close();
    }
  });
});
