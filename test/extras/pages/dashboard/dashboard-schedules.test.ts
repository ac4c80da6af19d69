import { expect } from "chai";
import { axeFindings } from "../../../helpers/browser.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";

describe("the schedules in the dashboard (in Chromium, else left out)", function () {
  this.timeout(120_000);
  const test = dashboardTest();

  it("shows when each is due next, runs it now, and pauses it; viewers only look", async () => {
    const { page, server, keys } = test;
    const body = { queue: "invoices", input: { to: "a@example.com", cents: 1 }, cron: "0 3 * * *", label: "by night" };
    const put = { method: "PUT", headers: keys.as("boss"), body };
    expect((await server.send("/v1/schedules/nightly", put)).status).to.equal(201);
    await test.open("/dashboard");
    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByRole("button", { name: "Run now: nightly" }).click();
    const [, id = ""] =
      /^(\S+) is submitted to invoices\.$/.exec(await page.locator("#said:not(:empty)").innerText()) ?? [];
    expect(await test.json(`/v1/requests/${id}/status`)).to.include({ queue: "invoices", label: "by night" });
    expect(await page.locator("td time").count()).to.equal(5);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await axeFindings(page), String(width)).to.deep.equal([]);
    }
    await page.getByRole("button", { name: "Pause nightly" }).click();
    await page.getByRole("button", { name: "Resume nightly" }).waitFor();
    expect(await test.json("/v1/schedules/nightly")).to.deep.include({ ...body, paused: true });
    await test.open("/dashboard/schedules", "viewer");
    await page.getByText("0 3 * * *").waitFor();
    expect(await page.getByRole("main").getByRole("button").count()).to.equal(0);
  });
});
