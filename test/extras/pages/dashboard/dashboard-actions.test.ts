import { expect } from "chai";
import { closedGate, type Gate } from "../../../helpers/gates.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";
import { eventually } from "../../../shared/eventually.ts";

describe("what can be done in the dashboard (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();
  const stateOf = async (id: string) => (await test.json(`/v1/requests/${id}/status`)).state;

  /** A task that has the only slot of `gated` until its gate opens, and others behind it. */
  async function line(...ids: string[]): Promise<Gate> {
    const gate = closedGate();
    await test.submit("gated", gate.input);
    await gate.entered;
    for (const id of ids) await test.submit("gated", gate.input, "", id);
    return gate;
  }

  it("pauses and resumes a queue", async () => {
    const { page } = test;
    await test.open("/dashboard");
    await page.getByRole("button", { name: "Pause picture" }).click();
    await page.getByRole("status").getByText("picture is paused: no task starts.").waitFor();
    await page
      .getByRole("row", { name: /^picture/ })
      .getByText("paused", { exact: true })
      .waitFor();
    expect((await test.json("/v1/queues/picture")).paused).to.equal(true);
    const resume = page.getByRole("button", { name: "Resume picture" });
    await resume.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Pause picture" }).waitFor();
    expect((await test.json("/v1/queues/picture")).paused).to.equal(false);
  });

  it("changes the settings of a queue, takes that back, and quiets a worker", async () => {
    const { page } = test;
    await test.open("/dashboard/queues/picture");
    const { declared } = (await test.json("/v1/queues/picture")).settings.concurrency;
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByLabel("Tasks at a time in each worker process").fill("3");
    await page.getByLabel("Tasks at a time, over all processes").fill("7");
    await page.getByLabel("Tasks that may start").fill("5");
    await page.getByLabel("in this time").fill("1m");
    await page.getByRole("button", { name: "Change" }).click();
    await page.getByText("adjusted", { exact: true }).waitFor();
    const { settings } = await test.json("/v1/queues/picture");
    expect([settings.concurrency.now, settings.rate.now]).to.deep.equal([3, { max: 5, per: "1m" }]);
    expect(settings.total).to.deep.equal({ declared: null, now: 7 });
    await page.getByRole("button", { name: "As declared" }).click();
    await page.getByText("adjusted", { exact: true }).waitFor({ state: "detached" });
    expect((await test.json("/v1/queues/picture")).settings.concurrency.now).to.equal(declared);

    await test.open("/dashboard/workers");
    await page.getByRole("button", { name: /^Quiet / }).click();
    await page.getByText("quiet", { exact: true }).waitFor();
    await page.getByRole("button", { name: /^Resume / }).click();
    await page.getByText("quiet", { exact: true }).waitFor({ state: "detached" });
  });

  it("cancels a task only after asking", async () => {
    const { page } = test;
    const gate = await line("cancel-me", "not-me");
    await test.open("/dashboard/queues/gated");
    await page.getByRole("checkbox", { name: "Select cancel-me" }).check();
    await page.getByRole("button", { name: "Cancel 1" }).click();
    await page.getByRole("dialog").getByText("cancel-me leaves the line").waitFor();
    await page.keyboard.press("Escape");
    expect(await stateOf("cancel-me")).to.equal("waiting");
    await page.getByRole("button", { name: "Cancel 1" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the task" }).click();
    await page.getByRole("status").getByText("cancel-me is canceled.").waitFor();
    expect(await stateOf("cancel-me")).to.equal("canceled");
    await page.getByRole("link", { name: "cancel-me" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "not-me" }).waitFor();
    gate.open();
  });

  it("does one thing to the selected tasks, a range of them or all of the page, and tells what became of them, with each on request", async () => {
    const { page } = test;
    const gate = await line("s-1", "s-2", "s-3", "s-4", "s-5");
    await test.open("/dashboard/queues/gated");
    const box = (id: string) => page.getByRole("checkbox", { name: `Select ${id}` });
    const ids = () => page.getByRole("table").locator("tbody .id").allTextContents();
    await box("s-3").click();
    await box("s-5").click({ modifiers: ["Shift"] });
    await page.getByText("3 selected").waitFor();
    await page.getByRole("button", { name: "Move to front 3" }).click();
    await page.getByText("3 tasks are the first in line.").waitFor();
    await box("s-1").waitFor();
    await eventually(async () => expect(await ids()).to.deep.equal(["s-3", "s-4", "s-5", "s-1", "s-2"]));
    await page.getByRole("button", { name: "Dismiss" }).click();

    await page.getByRole("checkbox", { name: "Select all on this page" }).click();
    await box("s-1").click();
    await page.getByRole("button", { name: "Cancel 4" }).click();
    await page.route("**/v1/requests/s-2", (route) =>
      route.fulfill({ status: 409, json: { title: "Not now", detail: "It cannot be canceled now." } }),
    );
    await page.getByRole("dialog").getByRole("button", { name: "Cancel 4 tasks" }).click();
    await page.getByText("s-2: It cannot be canceled now.").waitFor();
    expect(await page.getByText("s-3 is canceled.").isVisible()).to.equal(false);
    await page.getByText("3 tasks are canceled, or asked to stop.").click();
    for (const id of ["s-3", "s-4", "s-5"]) await page.getByText(`${id} is canceled.`).waitFor();
    await eventually(async () => expect(await ids()).to.deep.equal(["s-1", "s-2"]));
    expect(await stateOf("s-4")).to.equal("canceled");
    gate.open();
    await test.until("s-2", "succeeded");
  });

  it("cancels all tasks that match a filter, and says beforehand how many", async () => {
    const { page } = test;
    const gate = await line("a-1", "b-1", "a-2", "a-3");
    await test.open("/dashboard/queues/gated");
    await page.getByRole("link", { name: "b-1" }).waitFor();
    await page.getByLabel("Id begins with").fill("a-");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "b-1" }).waitFor({ state: "detached" });
    expect(new URL(page.url()).search).to.equal("?idPrefix=a-");
    await page.getByRole("button", { name: "Cancel all that match" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("that match the filters (id begins with: a-)").waitFor();
    await dialog.getByRole("button", { name: "Cancel 3 waiting tasks" }).click();
    await page.getByRole("status").getByText("3 tasks canceled.").waitFor();
    expect(await Promise.all(["a-1", "a-2", "a-3", "b-1"].map(stateOf))).to.deep.equal([
      ...["canceled", "canceled", "canceled"],
      "waiting",
    ]);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("link", { name: "b-1" }).waitFor();
    gate.open();
    await test.until("b-1", "succeeded");
  });

  it("retries a dead task, and deletes the others at once", async () => {
    const { page } = test;
    for (const id of ["dead-1", "dead-2", "dead-3"])
      await test.submit("failing", { message: `${id} <b>broke</b>` }, "", id);
    for (const id of ["dead-1", "dead-2", "dead-3"]) await test.until(id, "failed");
    await test.open("/dashboard/queues/failing/dead");
    await page.getByRole("table", { name: "failing, dead" }).getByText("dead-2 <b>broke</b>").waitFor();
    const before = await test.json("/v1/requests/dead-1/status");
    await page.getByRole("checkbox", { name: "Select dead-1" }).check();
    await page.getByRole("button", { name: "Retry 1" }).click();
    await page.getByRole("status").getByText("dead-1 is back in line").waitFor();
    const again = await test.until("dead-1", "failed");
    expect(again.finishedAt > before.finishedAt).to.equal(true);
    await page.getByRole("button", { name: /^Delete all/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete 3 tasks" }).click();
    await page.getByText("No dead tasks").waitFor();
    expect((await test.json("/v1/queues/failing")).dead).to.equal(0);
  });

  it("shows what tasks died of, the most frequent first, and retries or deletes those of one error", async () => {
    const { page } = test;
    for (const [id, message] of [
      ["group-1", "no luck\nat all"],
      ["group-2", "no luck\ntoday"],
      ["group-3", "no room"],
    ] as const) {
      await test.submit("failing", { message }, "", id);
      await test.until(id, "failed");
    }
    await test.open("/dashboard/queues/failing/dead");
    const errors = page.getByRole("region", { name: "Errors" });
    const [frequent, other] = [
      errors.getByRole("row", { name: /^no luck/ }),
      errors.getByRole("row", { name: /^no room/ }),
    ];
    await other.waitFor();
    expect(await errors.locator("tbody .folded").allTextContents()).to.deep.equal(["no luck", "no room"]);
    await frequent.getByRole("link", { name: "Show 2 tasks: task-failed: no luck" }).click();
    await errors.waitFor({ state: "detached" });
    await page.getByText("2 match: 3 tasks were searched").waitFor();
    expect(await page.locator("tbody .id").allTextContents()).to.deep.equal(["group-2", "group-1"]);
    await page.goBack();
    const before = await test.json("/v1/requests/group-1/status");
    await frequent.getByRole("button", { name: /^Retry these 2/ }).click();
    await page.getByRole("dialog").getByText("error: task-failed: no luck").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Retry 2 tasks" }).click();
    await page.getByRole("status").getByText("2 tasks retried.").waitFor();
    for (const id of ["group-1", "group-2"]) await test.until(id, "failed");
    const again = await test.json("/v1/requests/group-1/status");
    expect(again.finishedAt > before.finishedAt).to.equal(true);
    await other.getByRole("button", { name: /^Delete this one/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete 1 task" }).click();
    await other.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Delete all/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete 2 tasks" }).click();
    await page.getByText("No dead tasks").waitFor();
  });

  it("says what the server refuses, without leaving the view", async () => {
    const { page } = test;
    await test.open("/dashboard/queues/invoices");
    await page.route("**/v1/queues/invoices/pause", (route) =>
      route.fulfill({ status: 503, json: { title: "The store cannot be reached", detail: "Redis is away." } }),
    );
    await page.getByRole("button", { name: "Pause invoices" }).click();
    await page.getByRole("alert").getByText("Redis is away.").waitFor();
    await page.getByRole("button", { name: "Pause invoices" }).waitFor();
  });
});
