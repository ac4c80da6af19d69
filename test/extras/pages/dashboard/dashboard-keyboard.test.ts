import { expect } from "chai";
import { axeFindings } from "../../../helpers/browser.ts";
import { closedGate } from "../../../helpers/gates.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";
import { eventually } from "../../../shared/eventually.ts";

describe("finding one's way in the dashboard (in Chromium, else left out)", function () {
  this.timeout(60_000);
  const test = dashboardTest();
  const focused = () => test.page.evaluate<string>("document.activeElement.getAttribute('aria-label') ?? ''");

  it("skips the head, and moves the focus", async () => {
    const { page } = test;
    await test.open("/dashboard");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction("location.hash === '#view'");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('main') !== null")).to.equal(true);
  });

  it("moves through a list by j and k, opens a row by Enter, and tells its keys by ?", async () => {
    const { page } = test;
    const text = () => page.evaluate<string>("document.activeElement.textContent");
    await test.open("/dashboard");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("the next row of a list").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const names = await page.getByRole("table", { name: "Queues" }).locator("tbody .name").allTextContents();
    for (const [key, name] of [
      ["j", names[0]],
      ["j", names[1]],
      ["j", names[2]],
      ["k", names[1]],
    ] as const) {
      await page.keyboard.press(key);
      expect(await text()).to.equal(name);
    }
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: names[1] ?? "", exact: true }).waitFor();
  });

  it("goes to a queue, pauses one and searches from a menu, by Ctrl-K", async () => {
    const { page } = test;
    await test.open("/dashboard/events");
    const choose = async (typed: string, ...keys: string[]) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Go to, or do" }).waitFor();
      await page.keyboard.type(typed);
      await page.getByRole("option", { name: `Find tasks: ${typed}` }).waitFor();
      await page
        .getByRole("option", { name: "picture", exact: true })
        .waitFor({ state: typed === "pict" ? "visible" : "hidden" });
      expect(await axeFindings(page)).to.deep.equal([]);
      for (const key of [...keys, "Enter"]) await page.keyboard.press(key);
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await choose("pict");
    await page.getByRole("heading", { name: "picture" }).waitFor();
    await choose("pict", "ArrowDown");
    await page.getByText("picture is paused: no task starts.").waitFor();
    await page.getByRole("button", { name: "Resume picture" }).click();
    await page.getByText("picture is running again.").waitFor();
    await choose("nothing like it");
    await page.getByRole("heading", { name: "nothing like it" }).waitFor();
  });

  it("keeps the focus in the list when the row that had it leaves", async () => {
    const { page } = test;
    const ids = await Promise.all([1, 2, 3].map((n) => test.submit("gated", {}, "?delay=3600", `leaving-${n}`)));
    await test.open("/dashboard/queues/gated/scheduled?idPrefix=leaving-");
    const box = page.getByRole("checkbox", { name: "Select leaving-2" });
    await box.focus();
    await page.keyboard.press("Space");
    expect(await box.isChecked()).to.equal(true);
    await test.server.send("/v1/requests/leaving-2", { method: "DELETE", headers: test.keys.as("boss") });
    await box.waitFor({ state: "detached" });
    expect(await focused()).to.match(/^Select leaving-[13]$/);
    for (const id of ids)
      await test.server.send(`/v1/requests/${id}`, { method: "DELETE", headers: test.keys.as("boss") });
  });

  it("keeps the focus at the selection after an action on it, and in the page after one on all that match", async () => {
    const { page } = test;
    for (const n of [1, 2, 3, 4]) await test.submit("gated", {}, "?delay=3600", `acted-${n}`);
    await test.open("/dashboard/queues/gated/scheduled?idPrefix=acted-");
    const answer = async (name: string) => {
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("button", { name }).focus();
      await page.keyboard.press("Enter");
    };
    for (const n of [1, 2]) await page.getByRole("checkbox", { name: `Select acted-${n}` }).check();
    await page.getByRole("button", { name: "Cancel 2" }).focus();
    await answer("Cancel 2 tasks");
    await page.getByText("2 tasks are canceled, or asked to stop.").waitFor();
    await page.getByRole("checkbox", { name: "Select acted-2" }).waitFor({ state: "detached" });
    const all = page.getByRole("checkbox", { name: "Select all on this page" });
    await eventually(() => all.evaluate((box) => box === box.ownerDocument.activeElement));

    await page.getByRole("checkbox", { name: "Select acted-3" }).check();
    await page.getByRole("button", { name: "Cancel 1", exact: true }).focus();
    await answer("Cancel the task");
    await page.getByRole("checkbox", { name: "Select acted-3" }).waitFor({ state: "detached" });
    await eventually(() => all.evaluate((box) => box === box.ownerDocument.activeElement));

    await page.getByRole("button", { name: "Cancel all that match …" }).focus();
    await answer("Cancel 1 task");
    await page.getByText("1 task canceled.").waitFor();
    await eventually(() => page.evaluate<boolean>("document.activeElement.closest('main') !== null"));
  });

  it("restores the scroll position after going back", async () => {
    const { page } = test;
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, n) => test.submit("gated", {}, "?delay=3600", `long-list-${n}`)),
    );
    await test.open("/dashboard/queues/gated/scheduled?idPrefix=long-list-");
    const row = page.getByRole("link", { name: "long-list-30", exact: true });
    await row.scrollIntoViewIfNeeded();
    const before = await page.evaluate<number>("scrollY");
    expect(before).to.be.above(100);
    await row.click();
    await page.getByRole("heading", { name: "long-list-30" }).waitFor();
    expect(await page.evaluate("scrollY")).to.equal(0);
    await page.goBack();
    await row.waitFor();
    await eventually(async () => Math.abs((await page.evaluate<number>("scrollY")) - before) < 2);
    for (const id of ids)
      await test.server.send(`/v1/requests/${id}`, { method: "DELETE", headers: test.keys.as("boss") });
  });

  it("restores page and scroll position after going back through the pages of a list", async () => {
    const { page } = test;
    const lines = Array.from({ length: 110 }, (_, n) =>
      JSON.stringify({ id: `many-${n}`, input: {}, delay: 3600 + n }),
    );
    await test.server.batch("gated", lines.join("\n"), "?envelope=true", test.keys.as("boss"));
    await test.open("/dashboard/queues/gated/scheduled?idPrefix=many-");
    const link = (n: number) => page.getByRole("link", { name: `many-${n}`, exact: true });
    const scrolled = () => page.evaluate<number>("scrollY");
    await link(0).waitFor();
    await page.getByRole("button", { name: "Next page" }).scrollIntoViewIfNeeded();
    const first = await scrolled();
    await page.getByRole("button", { name: "Next page" }).click();
    await link(99).waitFor();
    await link(95).scrollIntoViewIfNeeded();
    const second = await scrolled();
    await link(95).click();
    await page.getByRole("heading", { name: "many-95" }).waitFor();
    await page.goBack();
    await link(95).waitFor();
    await eventually(async () => Math.abs((await page.evaluate<number>("scrollY")) - second) < 2);
    await page.evaluate("scrollTo(0, 0)");
    // The answer takes longer than a page that scrolls needs to settle.
    await page.route(/scheduled\?/, (route) => setTimeout(() => void route.continue(), 400));
    await page.goBack();
    await link(49).waitFor();
    await eventually(async () => Math.abs((await page.evaluate<number>("scrollY")) - first) < 2);
    await test.server.send("/v1/queues/gated/bulk", {
      ...{ method: "POST", headers: test.keys.as("boss") },
      body: { action: "cancel", list: "scheduled", idPrefix: "many-" },
    });
  });

  it("says what is wrong with a filter, which can be changed there", async () => {
    const { page } = test;
    await test.open("/dashboard/queues/gated");
    const field = page.getByRole("searchbox", { name: "Id begins with" });
    await field.fill("<");
    await field.press("Enter");
    await page
      .getByRole("alert")
      .getByText(/idPrefix/)
      .waitFor();
    await page.getByRole("heading", { name: "gated" }).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("No tasks are waiting.").waitFor();
  });

  it("shows why an action failed until that is dismissed", async () => {
    const { page } = test;
    const gate = closedGate();
    const id = await test.submit("gated", gate.input);
    await gate.entered;
    await test.open(`/dashboard/tasks/${id}`);
    await page.route(`**/v1/requests/${id}`, (route) =>
      route.fulfill({ status: 409, json: { title: "Not now", detail: "It cannot be canceled now." } }),
    );
    await page.getByRole("button", { name: `Cancel ${id}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel the task" }).click();
    const trouble = page.getByRole("alert").getByText("It cannot be canceled now.");
    await trouble.waitFor();
    const looks = await looksAt(`/v1/requests/${id}/timeline`, 2);
    expect(looks).to.be.at.least(2);
    expect(await trouble.isVisible()).to.equal(true);
    await page.getByRole("button", { name: "Dismiss" }).click();
    await trouble.waitFor({ state: "detached" });
    gate.open();
  });

  it("asks again no sooner than the server wants", async () => {
    const { page } = test;
    let asked = 0;
    await page.clock.install();
    await page.route("**/v1/queues", (route) => {
      asked += 1;
      return route.fulfill({ status: 503, headers: { "Retry-After": "60" }, json: { title: "Away" } });
    });
    await page.addInitScript(`sessionStorage.setItem("paihao.key", "${test.keyOf("boss")}")`);
    await page.goto("/dashboard");
    await page.getByRole("alert").getByText("Away").waitFor();
    expect(asked).to.equal(1);
    await page.clock.runFor(50_000);
    expect(asked).to.equal(1);
    await page.clock.runFor(15_000);
    await eventually(() => asked === 2);
  });

  it("leaves half of the caller's rate limit to others", async () => {
    const { page } = test;
    let asked = 0;
    await page.clock.install();
    await page.route("**/v1/queues", async (route) => {
      asked += 1;
      const answer = await route.fetch();
      const headers = { "RateLimit-Policy": '"default";q=100;w=60', RateLimit: '"default";r=49;t=60' };
      await route.fulfill({ response: answer, headers: { ...answer.headers(), ...headers } });
    });
    await page.addInitScript(`sessionStorage.setItem("paihao.key", "${test.keyOf("boss")}")`);
    await page.goto("/dashboard");
    await page.getByRole("link", { name: "gated", exact: true }).waitFor();
    await page.clock.runFor(50_000);
    expect(asked).to.equal(1);
    await page.clock.runFor(15_000);
    await eventually(() => asked === 2);
  });

  /** Waits until the page has asked for a path so often. */
  async function looksAt(path: string, times: number): Promise<number> {
    let looks = 0;
    while (looks < times) {
      await test.page.waitForResponse((response) => new URL(response.url()).pathname === path);
      looks += 1;
    }
    return looks;
  }
});
