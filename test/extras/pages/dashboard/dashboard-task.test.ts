import { expect } from "chai";
import { deferred } from "../../../helpers/deferred.ts";
import { closedGate } from "../../../helpers/gates.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";

describe("a task in the dashboard (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();

  it("is found by its id with the keyboard, and shows its place, its output as it is written, and its end", async () => {
    const { page } = test;
    const gate = closedGate();
    const running = await test.submit("words", gate.input);
    await gate.entered;
    await test.open("/dashboard");
    await page.keyboard.press("/");
    await page.keyboard.type(running);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: running }).waitFor();
    expect(new URL(page.url()).pathname).to.equal(`/dashboard/tasks/${running}`);
    const output = page.getByRole("log", { name: "Output" });
    await output.getByText("one").waitFor();
    gate.open();
    await output.getByText("one two").waitFor();
    await page.getByRole("region", { name: "Result" }).getByText('"done"').waitFor();
    await page.getByRole("row", { name: /^#1 succeeded/ }).waitFor();
  });

  it("keeps the end of a long output, follows it, and saves all of it", async () => {
    const { page } = test;
    const gate = closedGate();
    const id = await test.submit("gated", gate.input);
    const task = await gate.entered;
    await test.open(`/dashboard/tasks/${id}`);
    await task.write("the beginning\n");
    const output = page.getByRole("log", { name: "Output" });
    await output.getByText("the beginning").waitFor();
    for (let n = 0; n < 60; n += 1) await task.write(`${n} ${"word ".repeat(400)}\n`);
    await task.write("the end");
    await output.getByText(/the end$/).waitFor();
    await page.getByText("Only the end is shown.").waitFor();
    const text = (await output.textContent()) ?? "";
    expect(text.length).to.be.within(60_000, 75_000);
    expect(text).to.not.contain("the beginning");
    const below = await output.evaluate(
      (element) =>
        Reflect.get(element, "scrollHeight") - Reflect.get(element, "scrollTop") - Reflect.get(element, "clientHeight"),
    );
    expect(below, "px from the end").to.be.below(40);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download all" }).click();
    const stream = await (await saving).createReadStream();
    const saved = await stream.toArray();
    const lines = Buffer.concat(saved).toString("utf8").trimEnd().split("\n");
    expect(lines).to.have.length(62);
    expect(JSON.parse(lines[0] ?? "")).to.include({ seq: 0, data: "the beginning\n" });
    gate.open();
    await test.until(id, "succeeded");
  });

  it("shows a place that moves up, and what a worker does with it then", async () => {
    const { page } = test;
    const [first, second] = [closedGate(), closedGate()];
    await test.submit("gated", first.input);
    await first.entered;
    await test.submit("gated", first.input);
    const id = await test.submit("gated", second.input);
    await test.open(`/dashboard/tasks/${id}`);
    await page.getByText("Place 2", { exact: true }).waitFor();
    first.open();
    (await second.entered).progress(40, "halfway there");
    await page.getByText("halfway there").waitFor();
    await page.getByText("40 %").waitFor();
    await page.getByRole("button", { name: `Cancel ${id}` }).click();
    await page.getByRole("dialog").getByText("is running").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the task" }).click();
    await page.getByRole("status").getByText(`${id} was asked to stop.`).waitFor();
    await page.getByText("The task was canceled.").waitFor();
  });

  it("shows a picture as a picture, and HTML as text", async () => {
    const { page } = test;
    const picture = await test.submit("picture", {});
    const html = await test.submit("page", {});
    await test.until(picture, "succeeded");
    await test.open(`/dashboard/tasks/${picture}`);
    const image = page.getByRole("img", { name: `Result of ${picture}` });
    await image.waitFor();
    expect(await image.evaluate((element) => Reflect.get(element, "naturalWidth"))).to.equal(1);
    await test.until(html, "succeeded");
    await test.open(`/dashboard/tasks/${html}`);
    await page.getByText("<img src=x onerror=alert(1)>").waitFor();
    expect(await page.locator('img[src="x"]').count()).to.equal(0);
  });

  it("shows the steps of a task and what became of them", async () => {
    const { page } = test;
    const gate = closedGate();
    const id = await test.submit("trip", gate.input);
    await gate.entered;
    await test.open(`/dashboard/tasks/${id}`);
    await page.getByText("book:flight").waitFor();
    await page.getByText("LH-404").waitFor();
    gate.break(new Error("the airline is on strike"));
    await page.getByText("the airline is on strike", { exact: true }).waitFor();
    await page.getByText("What it did is undone by").waitFor();
    const steps = page.getByRole("region", { name: "Steps" });
    await steps.getByText(/succeeded$/).waitFor();
    await steps.getByText(/^undone at \d\d:\d\d:\d\d$/).waitFor();
    await steps.getByText("LH-404").waitFor();
  });

  it("shows why a task failed: its error, the log and the stack, folded where long, and what its caller gets", async () => {
    const { page } = test;
    const id = await test.submit("failing", { message: `no luck: ${"because ".repeat(55)}the end of it` });
    await test.until(id, "failed");
    await test.open(`/dashboard/tasks/${id}`);
    const attempts = page.getByRole("region", { name: "Attempts" });
    const row = attempts.getByRole("row", { name: /no luck: because/ });
    await row.waitFor();
    expect(await row.getByText(/the end of it/).count()).to.equal(0);
    await row.getByRole("button", { name: "Show all" }).click();
    await row.getByText(/the end of it/).waitFor();
    await row.getByRole("button", { name: "Show less" }).waitFor();
    await attempts
      .getByRole("list", { name: "Log of attempt 1" })
      .getByText(/about to fail \{"characters":\d+\}/)
      .waitFor();
    await attempts.getByText(/at .*handlers\.ts:\d+:\d+/).waitFor();
    await page.getByRole("region", { name: "What the caller gets" }).getByText('"status": 500').waitFor();
    const done = await test.submit("picture", { long: "x".repeat(5000) });
    await test.until(done, "succeeded");
    await test.open(`/dashboard/tasks/${done}`);
    await page.getByRole("region", { name: "Input" }).getByText("It is no longer kept").waitFor();
  });

  it("links to an input that is too long to be shown, and saves it with the key", async () => {
    const { page } = test;
    const input = { gate: "x".repeat(30_000) };
    const id = await test.submit("gated", input, "?delay=3600");
    await test.open(`/dashboard/tasks/${id}`);
    const saving = page.waitForEvent("download");
    await page.getByRole("region", { name: "Input" }).getByRole("link", { name: "Download" }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).to.equal(`${id}.json`);
    const bytes = Buffer.concat(await (await saved.createReadStream()).toArray());
    expect(JSON.parse(bytes.toString("utf8"))).to.deep.equal(input);
  });

  it("shows what became of its webhook, and why it was not delivered", async () => {
    const { page } = test;
    const id = await test.submit("picture", {}, "?webhook=http://127.0.0.1:9/none");
    await test.open(`/dashboard/tasks/${id}`);
    const webhooks = page.getByRole("region", { name: "Webhooks" });
    await webhooks.getByText("http://127.0.0.1:9/none").waitFor();
    await webhooks.getByText("retrying").waitFor();
    await webhooks.getByText(/ECONNREFUSED|refused/).waitFor();
    await webhooks.getByRole("link").click();
    await page.getByRole("heading", { name: `${id}:webhook:` }).waitFor();
  });

  it("shows what a task writes when it is retried", async () => {
    const { page } = test;
    const id = await test.submit("failing", { message: "no luck" });
    await test.until(id, "failed");
    await test.open(`/dashboard/tasks/${id}`);
    const output = page.getByRole("log", { name: "Output" });
    const first = await output.getByText(/^with fence/).textContent();
    await page.getByRole("button", { name: `Retry ${id}` }).click();
    await output.filter({ hasNotText: String(first) }).waitFor();
    expect(await output.textContent()).to.match(/^with fence \d+$/);
  });

  it("shows the next view only when it is loaded, whatever arrives late for the previous one", async () => {
    const { page } = test;
    const id = await test.submit("picture", {});
    await test.until(id, "succeeded");
    const [result, queue] = [deferred<void>(), deferred<void>()];
    await page.route(/\/v1\/requests\/[^/]+\?raw=true$/, (route) => result.promise.then(() => route.continue()));
    await page.route("**/v1/queues/picture", (route) => queue.promise.then(() => route.continue()));
    await test.open(`/dashboard/tasks/${id}`);
    await page.getByRole("region", { name: "Result" }).waitFor();
    await page.getByRole("link", { name: "picture" }).click();
    const shown = page.waitForResponse(/\/v1\/requests\/[^/]+\?raw=true$/).then((response) => response.finished());
    result.resolve();
    await shown;
    // What came has been drawn with the second frame from here.
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
    expect(await page.getByRole("heading", { level: 1 }).count()).to.equal(0);
    queue.resolve();
    await page.getByRole("heading", { name: "picture" }).waitFor();
  });

  it("deletes a task that has ended, and then says that it is gone", async () => {
    const { page } = test;
    const id = await test.submit("picture", {});
    await test.until(id, "succeeded");
    await test.open(`/dashboard/tasks/${id}`);
    await page.getByRole("button", { name: `Delete ${id}` }).click();
    await page.getByRole("dialog").getByText("This cannot be undone.").waitFor();
    await page.getByRole("button", { name: "Delete the task" }).click();
    await page.getByRole("heading", { name: "No such task" }).waitFor();
  });

  it("is listed with its worker on the page of workers", async () => {
    const { page } = test;
    const gate = closedGate();
    const id = await test.submit("gated", gate.input);
    await gate.entered;
    await test.open("/dashboard/workers");
    await page
      .getByRole("row", { name: new RegExp(id) })
      .getByText("gated 1")
      .waitFor();
    gate.open();
  });
});
