import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Handler } from "../../../src/handler/define.ts";
import { deadly, doomed } from "../../fixtures/handlers/undo/handlers.ts";
import { endProcesses, type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { openWorkshop, type Workshop } from "../../helpers/workshop.ts";

const HANDLERS = path.join(import.meta.dirname, "../../fixtures/handlers/undo");

describe("undoing among processes that die", function () {
  this.timeout(120_000);
  let shop: Workshop;
  let dir: string;
  const processes: ServerProcess[] = [];

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-undo-"));
    shop = await openWorkshop([deadly, doomed] as Handler[]);
  });
  afterEach(async () => {
    await endProcesses(processes.splice(0));
    await shop.close();
    await rm(dir, { recursive: true });
  });

  const start = async () => {
    const worker = await startProcess({ ROLE: "worker", LEASE: "4s", KEY_PREFIX: shop.prefix, HANDLERS });
    processes.push(worker);
    return worker;
  };

  it("undoes a step in the middle of which its task died, though nobody knows how far it came", async () => {
    const journal = path.join(dir, "journal");
    const first = await start();
    const id = await shop.submit({ journal });
    expect(await first.ended).to.equal("SIGKILL");
    // As one that has lost its worker it runs alone here, in a child process.
    await start();
    expect(await shop.ended(id)).to.include({ state: "failed", errorCode: "worker-lost", lost: 2 });
    await shop.ended(`${id}:undo:deadly`, "succeeded");
    expect(await readFile(journal, "utf8")).to.equal("boom boom boom was undefined quiet was done ");
  });

  it("counts it as an attempt when an undo kills the process that it has alone: it does not do so for ever", async () => {
    const first = await start();
    const id = await shop.submit(1, { queue: "doomed" });
    expect(await first.ended).to.equal("SIGKILL");
    await start();
    await shop.ended(id);
    expect(await shop.ended(`${id}:undo:doomed`, "retrying")).to.include({ attempts: 1, lost: 1 });
  });
});
