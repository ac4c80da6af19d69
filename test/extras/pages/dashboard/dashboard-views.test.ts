import { expect } from "chai";
import { axeFindings } from "../../../helpers/browser.ts";
import { closedGate } from "../../../helpers/gates.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";
import { startServer } from "../../../helpers/http/server.ts";

describe("the views of the dashboard (in Chromium, else left out)", function () {
  this.timeout(120_000);
  const test = dashboardTest();

  it("signs in by a form, which refuses a wrong key, for this tab only and through a reload, and signs out", async () => {
    const { page, context } = test;
    const key = page.getByLabel("API key");
    const signIn = async (value: string) => {
      await key.fill(value);
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    await page.goto("/dashboard");
    await signIn("ph_nobody-has-this");
    await page.getByRole("alert").getByText("This server does not know this key.").waitFor();
    expect(await page.evaluate("sessionStorage.length")).to.equal(0);
    await signIn(test.keyOf("boss"));
    await page.getByRole("link", { name: "invoices" }).waitFor();
    expect(await page.locator("#who").innerText()).to.equal("boss admin");
    await page.reload();
    await page.getByRole("link", { name: "invoices" }).waitFor();
    expect(await page.evaluate("[localStorage.length, document.cookie]")).to.deep.equal([0, ""]);
    const other = await context.newPage();
    await other.goto("/dashboard");
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await key.waitFor();
    expect(await page.getByRole("link", { name: "invoices" }).count()).to.equal(0);
    await page.reload();
    await key.waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1440, 768, 390]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await axeFindings(page), `${width}, ${colorScheme}`).to.deep.equal([]);
      }
    }
  });

  it("asks again for a key that is revoked, and for none where there are none", async () => {
    const { page } = test;
    await test.open("/dashboard");
    await page.route("**/v1/queues", (route) => route.fulfill({ status: 401, json: { title: "Unauthenticated" } }));
    await page.getByText("The server no longer knows the key of this tab.").waitFor();
    await page.unrouteAll();
    const open = await startServer();
    try {
      await page.goto(`${open.url}/dashboard`);
      await page.getByRole("heading", { name: "Queues", exact: true }).waitFor();
      await page.waitForResponse("**/v1/queues");
      expect(await page.locator("#who, #sign-out, #api-key").count()).to.equal(0);
    } finally {
      await open.stop();
    }
  });

  it("shows each key what it may see and do", async () => {
    const { page } = test;
    await test.open("/dashboard/queues/invoices", "viewer");
    await page.getByText("No tasks are waiting.").waitFor();
    const buttons = await page.getByRole("main").getByRole("button").allTextContents();
    expect(buttons).to.deep.equal([]);
    await test.open("/dashboard/queues/invoices", "shop");
    await page.getByText("Its tasks are shown only to API keys with the scope read or admin.").waitFor();
    expect(await page.getByRole("main").getByRole("button").allTextContents()).to.deep.equal(["Submit a task"]);
    await test.open("/dashboard/queues/invoices");
    await page.getByRole("button", { name: "Pause invoices" }).waitFor();
  });

  it("shows the line by place, keeps the server's own queues apart, and can be linked to", async () => {
    const { page } = test;
    const gate = closedGate();
    await test.submit("gated", gate.input);
    await gate.entered;
    const first = await test.submit("gated", gate.input);
    const second = await test.submit("gated", gate.input);
    await test.open("/dashboard");
    const row = page.getByRole("row", { name: /^gated/ });
    await row.getByRole("cell", { name: "1 / 1" }).waitFor();
    expect(await page.getByRole("link", { name: "paihao.webhooks" }).count()).to.equal(0);
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("link", { name: "paihao.webhooks" }).waitFor();
    expect(await page.locator(".plot canvas").count()).to.equal(4);

    await page.getByRole("link", { name: "gated" }).click();
    await page.getByRole("heading", { name: "gated" }).waitFor();
    expect(new URL(page.url()).pathname).to.equal("/dashboard/queues/gated");
    const ids = page.getByRole("table").locator("tbody .id");
    await ids.first().waitFor();
    expect(await ids.allTextContents()).to.deep.equal([first, second]);
    await page.getByRole("link", { name: /^Running/ }).click();
    await page.getByRole("cell", { name: "1 of 1" }).waitFor();
    expect(new URL(page.url()).pathname).to.equal("/dashboard/queues/gated/running");
    await page.goBack();
    await page.goBack();
    await page.getByRole("heading", { name: "Queues", exact: true }).waitFor();
    gate.open();
    await page
      .getByRole("row", { name: /^gated/ })
      .getByRole("cell", { name: "0 / 1" })
      .waitFor();
  });

  it("shows what happened, newest first", async () => {
    const { page } = test;
    for (const action of ["pause", "resume"])
      await test.server.send(`/v1/queues/invoices/${action}`, { method: "POST", headers: test.keys.as("boss") });
    await test.open("/dashboard");
    await page.getByRole("link", { name: "Events" }).click();
    const rows = page.getByRole("table", { name: "Events" }).locator("tbody tr");
    await rows.first().waitFor();
    const [newest, before] = await rows.allTextContents();
    expect(newest).to.match(/queue resumed\s*invoices\s*by boss/);
    expect(before).to.match(/queue paused\s*invoices\s*by boss/);
  });

  it("shows the dead tasks newest first", async () => {
    const { page } = test;
    const ids: string[] = [];
    for (const message of ["one", "two"]) {
      const id = await test.submit("failing", { message });
      await test.until(id, "failed");
      ids.unshift(id);
    }
    await test.open("/dashboard/queues/failing/dead");
    const shown = page.getByRole("table").locator("tbody .id");
    await shown.first().waitFor();
    expect(await shown.allTextContents()).to.deep.equal(ids);
  });

  it("says in one line that the server cannot be reached, keeps what it shows, and goes on by itself", async () => {
    const { page, context } = test;
    await test.open("/dashboard");
    await context.setOffline(true);
    await page.getByText("The server cannot be reached.").waitFor();
    await page.getByRole("link", { name: "invoices" }).waitFor();
    await context.setOffline(false);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("The server cannot be reached.").waitFor({ state: "hidden" });
  });

  it("asks nothing while its tab is hidden, and at once when it is shown again", async () => {
    const { page } = test;
    await test.open("/dashboard");
    const hide = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"));`,
      );
    await hide(true);
    let asked = 0;
    page.on("request", () => {
      asked += 1;
    });
    // Longer than the two seconds between refreshes.
    await page.waitForTimeout(2500);
    expect(asked).to.equal(0);
    const again = page.waitForRequest("**/v1/queues");
    await hide(false);
    await again;
  });

  it("keeps the focus and what is being typed while it refreshes", async () => {
    const { page } = test;
    await test.open("/dashboard/queues/invoices");
    await page.getByRole("button", { name: "Submit a task" }).click();
    const input = page.getByLabel("Input, as JSON");
    await input.fill("");
    await input.pressSequentially("ada@");
    await page.waitForResponse("**/v1/queues/invoices");
    await page.waitForResponse("**/v1/queues/invoices");
    await page.keyboard.type("example.org");
    expect(await input.inputValue()).to.equal("ada@example.org");
  });

  it("says so if there is nothing to show", async () => {
    const { page } = test;
    await test.open("/dashboard/nowhere");
    await page.getByRole("heading", { name: "Not found" }).waitFor();
    await test.open("/dashboard/queues/nobody");
    await page.getByRole("heading", { name: "No such queue" }).waitFor();
    await test.open("/dashboard/queues/invoices");
    await page.getByText(/^curl http.*\/v1\/queues\/invoices\/requests/).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("no-such-task");
    await page.keyboard.press("Enter");
    await page.getByText("No id, label or line key of a task contains this.").waitFor();
    await test.open("/dashboard/tasks/no-such-task");
    await page.getByRole("heading", { name: "No such task" }).waitFor();
  });

  it("finds tasks of all queues by a part of their labels, and one by its id", async () => {
    const { page } = test;
    const ids = ["one", "two"].map((name) => `found-${name}`);
    for (const [n, id] of ids.entries()) {
      await test.submit(["forms", "picture"][n] ?? "", {}, `?label=Scan%20${n}&delay=3600`, id);
    }
    await test.open("/dashboard");
    await page.keyboard.press("/");
    await page.keyboard.type("scan ");
    await page.keyboard.press("Enter");
    await page.getByText(/^2 tasks found; all \d+ entries/).waitFor();
    const shown = await page.getByRole("table").locator("tbody tr").allInnerTexts();
    for (const [n, id] of ids.entries()) expect(shown[n]).to.match(new RegExp(`Scan ${n}\\s+${id}`));
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.keyboard.press("/");
    await page.keyboard.type("found-two");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "found-two" }).waitFor();
    expect(new URL(page.url()).pathname).to.equal("/dashboard/tasks/found-two");
    await test.open("/dashboard/queues/forms/scheduled?text=SCAN");
    await page.getByRole("link", { name: "found-one" }).waitFor();
    for (const id of ids)
      await test.server.send(`/v1/requests/${id}`, { method: "DELETE", headers: test.keys.as("boss") });
  });

  it("has no faults that axe finds, light or dark, and fits a small phone, whatever it shows", async () => {
    const { page, server, keys } = test;
    const long = "l".repeat(64);
    const id = await test.submit("failing", { message: "a long reason ".repeat(100) }, `?label=${long}`, long + long);
    await server.send(`/v1/requests/${id}`, { headers: keys.as("boss") });
    const times = { cron: "*/5 0-23 1,2,3,4,5 * *", timeZone: "America/Argentina/ComodRivadavia" };
    const body = { queue: "invoices", input: { to: "a@example.com", cents: 1 }, ...times };
    await server.send(`/v1/schedules/${long}`, { method: "PUT", headers: keys.as("boss"), body });
    await page.route("**/v1/queues", async (route) => {
      const response = await route.fetch();
      const { items } = await response.json();
      const large = { waiting: 999_999, running: 1234, slots: 2345, dead: 10_000 };
      await route.fulfill({ response, json: { items: [...items, { ...items[0], ...large, name: long }] } });
    });
    const views = [
      "",
      "/queues/invoices",
      "/queues/invoices/scheduled",
      "/queues/failing/dead",
      "/queues/failing/finished",
      `/queues/${long}`,
      "/workers",
      "/events",
      "/schedules",
      "/search?text=a",
      `/tasks/${id}`,
      `/${long}`,
    ];
    for (const view of views) {
      const path = `/dashboard${view}`;
      await test.open(path);
      for (const width of [1440, 768, 390, 320]) {
        await page.setViewportSize({ width, height: 800 });
        for (const colorScheme of width === 320 ? [] : (["light", "dark"] as const)) {
          await page.emulateMedia({ colorScheme });
          expect(await axeFindings(page), `${path}, ${width}, ${colorScheme}`).to.deep.equal([]);
        }
        expect(await page.evaluate("document.documentElement.scrollWidth"), `${path}, ${width}`).to.equal(width);
      }
    }
  });
});

describe("the times in the dashboard (in Chromium, else left out)", function () {
  this.timeout(120_000);
  const test = dashboardTest({ timezoneId: "Asia/Tokyo" });

  it("are counted by the server's clock, and name their zone where they are of events and schedules", async () => {
    const { page, server, keys } = test;
    const gate = closedGate();
    const running = await test.submit("gated", gate.input);
    await gate.entered;
    await test.submit("gated", gate.input);
    const body = { queue: "gated", input: 1, every: "1h" };
    await server.send("/v1/schedules/hourly", { method: "PUT", headers: keys.as("boss"), body });
    // The clock of this browser is three hours ahead.
    await page.clock.install({ time: Date.now() + 3 * 3_600_000 });
    const aged = async (path: string, column: string) => {
      await test.open(`/dashboard${path}`);
      return await page.locator(`td[data-name="${column}"]`).first().innerText();
    };
    expect(await aged("/queues/gated/waiting", "Waits for")).to.match(/^\d+ s$/);
    expect(await aged("/queues/gated/running", "Runs for")).to.match(/^\d+ s$/);
    expect(await aged("/workers", "Last seen")).to.match(/^\d+ s ago$/);
    expect(await aged("/workers", "Up for")).to.match(/^\d+ (?:s|min)/);
    await test.open("/dashboard");
    const asOf = await page.locator(".summary time").first().getAttribute("datetime");
    expect(Math.abs(Date.parse(asOf ?? "") - Date.now())).to.be.below(60_000);
    await test.open(`/dashboard/tasks/${running}`);
    await page
      .getByText(/^for \d+ s$|for \d+ s/)
      .first()
      .waitFor();
    for (const view of ["events", "schedules"]) {
      await test.open(`/dashboard/${view}`);
      await page.getByText("times in Asia/Tokyo").waitFor();
      expect(await page.locator("td time").first().getAttribute("title")).to.contain("GMT+0900");
    }
    await server.send("/v1/schedules/hourly", { method: "DELETE", headers: keys.as("boss") });
    gate.open();
  });
});
