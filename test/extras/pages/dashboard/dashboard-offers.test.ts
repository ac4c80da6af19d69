import { expect } from "chai";
import { closedGate } from "../../../helpers/gates.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";
import { eventually } from "../../../shared/eventually.ts";

describe("what the pages offer (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();
  type Name = Parameters<typeof test.keyOf>[0];

  /** The buttons of what a view shows, without those that only look. */
  const offered = async (): Promise<string[]> => {
    const names = await test.page.locator("#view button").allInnerTexts();
    return names.filter((name) => /^(Submit|Pause|Resume|Cancel|Retry|Delete)/.test(name));
  };
  /** Opens an address, and waits until what it offers is this: a view is drawn in several steps. */
  const shows = async (path: string, as: Name, heading: string, expected: readonly string[]): Promise<void> => {
    await test.open(path, as);
    await test.page.getByRole("heading", { name: heading, exact: true }).waitFor();
    await test.page.locator(".loading").waitFor({ state: "detached" });
    const all = test.page.getByRole("checkbox", { name: "Select all on this page" });
    if ((await all.count()) > 0) await all.check();
    await eventually(async () => expect([...new Set(await offered())].sort()).to.deep.equal([...expected].sort()));
  };
  const send = async (as: Name, method: string, path: string): Promise<number> =>
    (await test.server.send(path, { method, headers: test.keys.as(as) })).status;

  it("no form and no curl line for a gateway, which takes no inputs; both for another queue", async () => {
    const { page } = test;
    await shows("/dashboard/queues/api", "boss", "api", ["Pause"]);
    await page.getByText("No tasks are waiting.").waitFor();
    expect(await page.getByText("curl").count()).to.equal(0);
    expect(await send("boss", "POST", "/v1/queues/api/requests")).to.equal(404);
    await shows("/dashboard/queues/picture", "boss", "picture", ["Submit a task", "Pause"]);
    await page.getByText("curl").waitFor();
  });

  it("only reading to a key that may only read", async () => {
    const gate = closedGate();
    const running = await test.submit("gated", gate.input);
    await gate.entered;
    const waiting = await test.submit("gated", gate.input);
    await shows("/dashboard/queues/gated", "viewer", "gated", []);
    await test.page.getByRole("link", { name: waiting }).waitFor();
    for (const id of [running, waiting]) await shows(`/dashboard/tasks/${id}`, "viewer", id, []);
    await shows("/dashboard", "viewer", "Queues", []);
    expect(await send("viewer", "DELETE", `/v1/requests/${waiting}`)).to.equal(403);
    expect(await send("viewer", "POST", "/v1/queues/gated/pause")).to.equal(403);
    await test.open("/dashboard/queues/picture", "viewer");
    await test.page.getByText("No tasks are waiting.").waitFor();
    expect(await test.page.getByText("curl").count()).to.equal(0);
    gate.open();
    await test.until(waiting, "succeeded");
  });

  it("a retry of a dead task, but not of one that gave up, or whose work is undone", async () => {
    const gate = closedGate();
    const undone = await test.submit("trip", gate.input);
    await gate.entered;
    gate.break(new Error("no seat left"));
    const [dead, refused] = [await test.submit("failing", { message: "no answer" }), await test.submit("refusing", {})];
    for (const id of [undone, dead, refused]) await test.until(id, "failed");
    await eventually(async () => {
      const { task, undo } = await test.json(`/v1/requests/${undone}/timeline`);
      return undo?.state === "succeeded" && !task.actions.includes("retry");
    });
    await shows(`/dashboard/tasks/${dead}`, "boss", dead, ["Retry", "Delete"]);
    for (const id of [undone, refused]) {
      await shows(`/dashboard/tasks/${id}`, "boss", id, ["Delete"]);
      expect(await send("boss", "POST", `/v1/requests/${id}/retry`), id).to.equal(409);
    }
    await shows("/dashboard/queues/trip/dead", "boss", "trip", [
      "Submit a task",
      "Pause",
      "Retry all …",
      "Delete all …",
      "Delete this one …",
      "Delete 1",
    ]);
    await shows("/dashboard/queues/failing/dead", "boss", "failing", [
      ...["Submit a task", "Pause", "Retry all …", "Delete all …"],
      ...["Retry this one …", "Delete this one …", "Retry 1", "Delete 1"],
    ]);
    await shows("/dashboard/queues/failing/finished", "boss", "failing", [
      "Submit a task",
      "Pause",
      "Retry 1",
      "Delete all …",
      "Delete 1",
    ]);
    // Its caller may delete what is theirs, and not run it again.
    await shows(`/dashboard/tasks/${dead}`, "shop", dead, ["Delete"]);
    expect(await send("shop", "POST", `/v1/requests/${dead}/retry`)).to.equal(403);
  });

  it("on the page of a task: a cancel to its caller until it is asked to stop, and none to a key that may only read", async () => {
    const { page } = test;
    const gate = closedGate();
    const id = await test.submit("gated", gate.input);
    const task = await gate.entered;
    const cancel = page.getByRole("button", { name: "Cancel", exact: true });
    const visit = async (as: Name) => {
      await page.setExtraHTTPHeaders({ Authorization: `Bearer ${test.keyOf(as)}` });
      await page.goto(`/v1/requests/${id}/status`);
      await page.getByText("live", { exact: true }).waitFor();
    };
    await visit("viewer");
    expect(await cancel.isVisible()).to.equal(false);
    expect(await send("viewer", "DELETE", `/v1/requests/${id}`)).to.equal(403);
    await visit("shop");
    await cancel.click();
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await page.getByRole("heading", { name: "Canceled" }).waitFor();
    await cancel.waitFor({ state: "hidden" });
    expect(task.signal.aborted).to.equal(true);
  });
});
