import { expect } from "chai";
import { deadly, doomed } from "../../fixtures/handlers/undo/handlers.ts";
import { openProcesses, type ProcessGroup } from "../../helpers/process-group.ts";
import type { Workshop } from "../../helpers/workshop.ts";

describe("undoing among processes that die", function () {
  this.timeout(120_000);
  let group: ProcessGroup;
  let shop: Workshop;

  beforeEach(async () => {
    group = await openProcesses("undo", [deadly, doomed]);
    ({ shop } = group);
  });
  afterEach(() => group.close());

  const start = () => group.start({ ROLE: "worker", LEASE: "4s" });

  it("undoes a step during which its process died", async () => {
    const first = await start();
    const id = await shop.submit({ journal: group.journal });
    expect(await first.ended).to.equal("SIGKILL");
    // As one that has lost its worker it runs alone here, in a child process.
    await start();
    expect(await shop.ended(id)).to.include({ state: "failed", errorCode: "worker-lost", lost: 2 });
    await shop.ended(`${id}:undo:deadly`, "succeeded");
    expect(await group.lines()).to.deep.equal(["boom boom boom was undefined quiet was done "]);
  });

  it("counts an attempt if an undo kills its own process", async () => {
    const first = await start();
    const id = await shop.submit(1, { queue: "doomed" });
    expect(await first.ended).to.equal("SIGKILL");
    await shop.ended(id);
    const undone = shop.ended(`${id}:undo:doomed`, "retrying");
    // A second worker may run it beside others and die too, if its child process takes long to start; the third does not.
    const second = await start();
    let over = false;
    const third = second.ended.then(() => (over ? undefined : start()));
    const { attempts, lost } = await undone;
    over = true;
    expect(attempts).to.equal(1);
    expect(lost).to.be.within(1, 2);
    if (lost === 2) await third;
  });
});
