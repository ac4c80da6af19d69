import { expect } from "chai";
import type { Browser } from "playwright-core";
import { axeFindings } from "../../../helpers/browser.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { launchBrowser } from "../../../shared/browser.ts";

/** Swagger UI's own fields for trying an operation have no names, and its colours of statuses are written into elements. */
const OF_OPENED_OPERATION = ["label", "select-name", "color-contrast"];

describe("the documentation in a browser (in Chromium, else left out)", function () {
  this.timeout(60_000);
  let server: TestServer;
  let browser: Browser | undefined;
  before(async function () {
    browser = await launchBrowser();
    if (!browser) return this.skip();
    server = await startServer();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  it("has no faults that axe finds: the page of a problem", async () => {
    const page = await browser?.newPage({ baseURL: server.url, colorScheme: "dark" });
    if (!page) throw new Error("no browser");
    for (const scheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto("/problems/unknown");
      await page.locator("h1").first().waitFor();
      expect(
        (await axeFindings(page)).map((f) => f.slice(0, 300)),
        scheme,
      ).to.deep.equal([]);
    }
    await page.close();
  });

  for (const colorScheme of ["light", "dark"] as const) {
    it(`has no faults that axe finds, in ${colorScheme}: /docs, except fields of Swagger UI in an open operation`, async () => {
      const page = await browser?.newPage({ baseURL: server.url, colorScheme });
      if (!page) throw new Error("no browser");
      await page.goto("/docs");
      const operation = page.locator(".opblock-summary-control").first();
      await operation.waitFor();
      expect((await axeFindings(page)).map((f) => f.slice(0, 300))).to.deep.equal([]);
      const background = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
      expect(background).to.equal(colorScheme === "dark" ? "rgb(28, 32, 34)" : "rgba(0, 0, 0, 0)");
      expect(await page.getByRole("button", { name: "Authorize" }).count(), "this server has no keys").to.equal(0);
      await page.getByRole("link", { name: "Paihao", exact: true }).waitFor();
      await operation.click();
      await page.locator(".opblock-body").first().waitFor();
      const others = (await axeFindings(page)).filter((f) => !OF_OPENED_OPERATION.includes(f.split(":")[0] ?? ""));
      expect(others.map((f) => f.slice(0, 300))).to.deep.equal([]);
      expect(new URL(page.url()).hash, "it can be linked to").to.match(/^#\/\w+\/\w+/);
      await page.close();
    });
  }
});
