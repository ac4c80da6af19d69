import { expect } from "chai";
import { deaf, patient } from "../fixtures/handlers/deaf/handlers.ts";
import { openProcesses, type ProcessGroup } from "../helpers/process-group.ts";
import type { Workshop } from "../helpers/workshop.ts";
import { eventually } from "../shared/eventually.ts";

describe("a process with a handler that ignores its signal and never ends", function () {
  this.timeout(120_000);
  let group: ProcessGroup;
  let shop: Workshop;

  beforeEach(async () => {
    group = await openProcesses("deaf", [deaf, patient], { timeless: true });
    ({ shop } = group);
  });
  afterEach(() => group.close());

  const submit = async (queue: string) => {
    const id = await shop.submit({ journal: group.journal }, { queue });
    await eventually(async () => (await group.begun(id)).length > 0);
    return id;
  };
  /** Its step was undone once, and at work no more. */
  const undoneInTime = async (id: string) => {
    expect((await shop.ended(id)).state).to.equal("canceled");
    await shop.ended(`${id}:undo:deaf`, "succeeded");
    const lines = (await group.lines()).filter((line) => line.startsWith(id));
    expect(lines.indexOf(`${id} undone`)).to.equal(lines.length - 1);
  };

  it("hands back its other tasks and exits with code 1; the lease of that one ends after it, then its step is undone", async () => {
    const first = await group.start({ ROLE: "worker", DRAIN_TIMEOUT: "100ms" });
    const [id, other] = [await submit("deaf"), await submit("patient")];
    await shop.engine.call("cancel", { id, queue: "deaf" });
    expect(await first.ended).to.equal(1);
    expect(first.logged.join("\n")).to.contain("drains and exits");
    expect(await shop.look(other)).to.include({ state: "waiting", lost: 0, attempts: 0 });
    expect(await shop.look(id)).to.include({ state: "running", cancelRequested: true });
    await group.leave(first);
    await group.start({ ROLE: "worker" });
    await undoneInTime(id);
    expect((await shop.look(id)).lost).to.equal(1);
  });

  it("exits after SIGTERM without handing that one back", async () => {
    const first = await group.start({ ROLE: "worker", DRAIN_TIMEOUT: "100ms" });
    const id = await submit("deaf");
    first.child.kill("SIGTERM");
    expect(await first.ended).to.be.oneOf([0, 1]);
    expect((await shop.look(id)).state).to.equal("running");
    await shop.engine.call("cancel", { id, queue: "deaf" });
    await group.leave(first);
    await group.start({ ROLE: "worker" });
    await undoneInTime(id);
  });

  it("is replaced if it belongs to a fleet", async () => {
    const fleet = await group.start({ PORT: "0", WEB_CONCURRENCY: "2", DRAIN_TIMEOUT: "100ms" });
    const id = await submit("deaf");
    await shop.engine.call("cancel", { id, queue: "deaf" });
    await undoneInTime(id);
    expect(fleet.logged.join("\n")).to.contain("a server process died; restarting it");
    const later = await submit("patient");
    expect((await shop.look(later)).state).to.equal("running");
  });
});
