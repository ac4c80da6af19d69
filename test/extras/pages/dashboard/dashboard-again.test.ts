import { expect } from "chai";
import { closedGate } from "../../../helpers/gates.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";

describe("moving and running again in the dashboard (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();

  it("opens the form filled in with the input as it was typed, and submits what was edited", async () => {
    const { page } = test;
    const id = await test.submit("failing", { message: "no answer", big: 12345678901234567890n.toString() });
    await test.until(id, "failed");
    await test.open(`/dashboard/tasks/${id}`, "boss");
    await page.getByRole("button", { name: "Run again…" }).click();
    const form = page.getByRole("form", { name: `Run ${id} again` });
    const input = form.getByLabel("Input, as JSON");
    expect(await input.inputValue())
      .to.include('"no answer"')
      .and.to.include("12345678901234567890");
    await input.fill('{"message":"edited"}');
    await form.getByRole("button", { name: "Submit", exact: true }).click();
    const link = form.getByRole("status").getByRole("link");
    const made = await link.innerText();
    const { task, input: stored } = await test.json(`/v1/requests/${made}/timeline`);
    expect([task.original, stored?.json]).to.deep.equal([id, { message: "edited" }]);
    await link.click();
    await page.getByRole("link", { name: id }).waitFor();
  });

  it("moves a task to the front of its line", async () => {
    const gate = closedGate();
    await test.submit("gated", gate.input);
    await gate.entered;
    const [, second = ""] = [await test.submit("gated", gate.input), await test.submit("gated", gate.input)];
    await test.open("/dashboard/queues/gated", "boss");
    await test.page.getByRole("checkbox", { name: `Select ${second}` }).check();
    await test.page.getByRole("button", { name: "Move to front 1" }).click();
    await test.page.getByText(`${second} is the first in line.`).waitFor();
    expect((await test.json(`/v1/requests/${second}/status`)).index).to.equal(0);
    gate.open();
    await test.until(second, "succeeded");
  });
});
