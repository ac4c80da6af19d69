import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { axeFindings, launchBrowser } from "../../helpers/browser.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const HANDLERS = new URL("../../fixtures/handlers/dashboard", import.meta.url).pathname;

describe("the dashboard in a browser (left out where there is no Chromium)", function () {
  this.timeout(60_000);
  const keys = testKeys({ boss: ["admin"], viewer: ["read"], shop: ["submit"] });
  let server: TestServer;
  let browser: Browser | undefined;
  let context: BrowserContext;
  let page: Page;
  const complaints: string[] = [];
  before(async function () {
    browser = await launchBrowser();
    if (!browser) return this.skip();
    server = await startServer({ ...keys.env, HANDLERS });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  beforeEach(async () => {
    if (!browser) return;
    context = await browser.newContext({ baseURL: server.url });
    page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // That a request was refused is no complaint of the page.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
        complaints.push(message.text());
    });
  });
  afterEach(async () => {
    await context?.close();
    expect(complaints.splice(0)).to.deep.equal([]);
  });

  const keyOf = (name: "boss" | "viewer" | "shop") => keys.as(name).Authorization?.replace("Bearer ", "") ?? "";

  /** Opens an address as someone who has entered a key before. */
  async function open(path: string, as: "boss" | "viewer" | "shop" = "boss"): Promise<void> {
    await page.addInitScript(`sessionStorage.setItem("paihao.key", "${keyOf(as)}")`);
    await page.goto(path);
    await page.locator("main:not([aria-busy])").waitFor();
  }

  it("asks for a key, keeps it for this tab only, and remembers it through a reload", async () => {
    await page.goto("/dashboard");
    await page.getByText("This server needs an API key.").waitFor();
    await page.getByRole("button", { name: "Enter a key" }).click();
    await page.getByLabel("Key", { exact: true }).fill(keyOf("boss"));
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "invoices" }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: "invoices" }).waitFor();
    expect(await page.evaluate("[localStorage.length, document.cookie]")).to.deep.equal([0, ""]);
    const other = await context.newPage();
    await other.goto("/dashboard");
    await other.getByText("This server needs an API key.").waitFor();
  });

  it("has nothing that axe finds wrong, light or dark, and fits a phone", async () => {
    for (const path of ["/dashboard", "/dashboard/queues/invoices"]) {
      await open(path);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await axeFindings(page), `${path}, ${colorScheme}`).to.deep.equal([]);
      }
      await page.setViewportSize({ width: 390, height: 800 });
      expect(await page.evaluate("document.documentElement.scrollWidth"), path).to.equal(390);
      expect(await axeFindings(page), `${path}, narrow`).to.deep.equal([]);
      await page.setViewportSize({ width: 1280, height: 800 });
    }
  });
});
