import { expect } from "chai";
import { connectOnce } from "../../../../src/store/servers/connect-once.ts";
import { closedGate } from "../../../helpers/gates.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";
import { storeUrl } from "../../../helpers/store/run-store.ts";
import { storedKey } from "../../../helpers/store/stored.ts";
import { weigh } from "../../../shared/page-weight.ts";

describe("the queues in the dashboard (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();
  const names = () => test.page.getByRole("table", { name: "Queues" }).locator("tbody .name").allTextContents();
  const sorted = async (column: string, direction: "ascending" | "descending" | null) => {
    await test.page.getByRole("button", { name: column, exact: true }).click();
    const heading = test.page.locator("th[aria-sort]");
    if (direction === null) return heading.waitFor({ state: "detached" });
    await test.page.locator(`th[aria-sort="${direction}"]`, { hasText: column }).waitFor();
    expect(await heading.count()).to.equal(1);
  };

  it("are sorted by any column, and by trouble otherwise, and filtered by name", async () => {
    const { page } = test;
    const gate = closedGate();
    await test.submit("gated", gate.input);
    await gate.entered;
    for (let n = 0; n < 2; n += 1) await test.submit("gated", gate.input);
    const dead = await test.submit("failing", { message: "no" });
    await test.until(dead, "failed");
    await test.open("/dashboard");
    await page
      .getByRole("row", { name: /^failing/ })
      .getByRole("link", { name: "1", exact: true })
      .waitFor();
    await page.getByRole("link", { name: "failing: 1 dead." }).waitFor();
    const byTrouble = await names();
    expect(byTrouble[0]).to.equal("failing");
    await sorted("Waiting", "descending");
    expect((await names())[0]).to.equal("gated");
    expect(new URL(page.url()).search).to.equal("?sort=waiting");
    await sorted("Waiting", "ascending");
    expect((await names()).at(-1)).to.equal("gated");
    await sorted("Waiting", null);
    expect(await names()).to.deep.equal(byTrouble);
    await sorted("Queue", "ascending");
    expect(await names()).to.deep.equal([...byTrouble].sort());

    await page.getByRole("searchbox", { name: "Filter by name" }).fill("GAT");
    await page.getByText(/^1 of \d+ queues$/).waitFor();
    expect(await names()).to.deep.equal(["gated"]);
    await page.keyboard.press("Enter");
    expect(new URL(page.url()).search).to.equal("?sort=name&name=GAT");
    await page.reload();
    await page.getByText(/^1 of \d+ queues$/).waitFor();
    gate.open();
  });

  it("have above them that the store is full, in red", async () => {
    const key = storedKey(`{${test.server.prefix}:0}`, "refusals");
    const redis = await connectOnce(storeUrl());
    try {
      const now = Date.now();
      await redis.hset(key, { since: now - 300_000, latest: now, ":other": 2869 });
      await test.open("/dashboard");
      const told = test.page.locator(".health.bad", { hasText: "store" });
      await told.waitFor();
      expect(await told.textContent()).to.match(
        /^the store is full: 2,869 submissions refused in 5 min\.Redis .+; runbook: PaihaoStoreFull\.$/,
      );
    } finally {
      await redis.del(key);
      redis.disconnect();
    }
  });

  it("have charts of the last 15 minutes, hour, day or week, without what was before anything happened", async () => {
    const { page } = test;
    await test.open("/dashboard");
    const first = page.getByRole("img", { name: /^Tasks per second in the last 15 minutes: failed \S+ to \S+, done / });
    await first.waitFor();
    await page
      .getByText(/┊ \S+ since /)
      .first()
      .waitFor();
    for (const [span, path] of [
      ["day", "/dashboard"],
      ["week", "/dashboard/queues/gated"],
    ] as const) {
      await test.open(path);
      await page.getByRole("link", { name: `Last ${span}` }).click();
      await page
        .getByRole("img", { name: new RegExp(`in the last ${span}`) })
        .first()
        .waitFor();
      expect(new URL(page.url()).search).to.equal(`?span=${span}`);
    }
  });

  for (const width of [768, 390, 320])
    it(`have one line each that opens to the figures, ${width} px wide`, async () => {
      const { page } = test;
      await page.setViewportSize({ width, height: 900 });
      await test.open("/dashboard");
      const row = page.getByRole("row", { name: /^invoices/ });
      await row.waitFor();
      expect((await row.boundingBox())?.height).to.be.below(60);
      const inside = row.getByRole("button", { name: "Pause invoices" });
      expect(await inside.isVisible()).to.equal(false);
      await row.getByRole("button", { name: "Figures of invoices" }).click();
      await inside.waitFor();
      await row.getByText("no workers").or(row.getByText("at once")).waitFor();
      await row.getByRole("button", { name: "Figures of invoices" }).click();
      await inside.waitFor({ state: "hidden" });
      expect(await page.locator(".plot canvas").count()).to.equal(4);
      expect(await page.evaluate("document.documentElement.scrollWidth")).to.equal(width);
    });

  it("are there, with their last hour, after at most 25 requests and 120 kB", async () => {
    const { page } = test;
    await page.addInitScript(`sessionStorage.setItem("paihao.key", "${test.keyOf("boss")}")`);
    const { requests, bytes } = await weigh(page, "/dashboard", ".plot canvas");
    expect(requests).to.be.within(5, 25);
    expect(bytes).to.be.within(20_000, 120_000);
  });
});
