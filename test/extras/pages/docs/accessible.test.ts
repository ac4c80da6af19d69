import { expect } from "chai";
import type { Browser } from "playwright-core";
import { axeFindings } from "../../../helpers/browser.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { launchBrowser } from "../../../shared/browser.ts";

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
    it(`has no faults that axe finds, in ${colorScheme}, and fits a small phone: /docs`, async () => {
      const page = await browser?.newPage({ baseURL: server.url, colorScheme });
      if (!page) throw new Error("no browser");
      await page.goto("/docs");
      await page.getByRole("heading", { name: "API reference" }).waitFor();
      expect(await page.getByLabel("API key").count(), "this server has no keys").to.equal(0);
      expect((await axeFindings(page)).map((f) => f.slice(0, 300))).to.deep.equal([]);
      await page.getByLabel("Filter operations").fill("place in line");
      await page.getByText("Collect the result, or see the place in line").click();
      await page.getByText(`curl -i "${server.url}/v1/requests/$id"`).waitFor();
      await page.getByText("A browser, too, gets the result itself, not the page of its task.").waitFor();
      expect((await axeFindings(page)).map((f) => f.slice(0, 300))).to.deep.equal([]);
      await page.setViewportSize({ width: 320, height: 600 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).to.equal(320);
      await page.close();
    });
  }

  it("opens the operation that an address names, with its body and the members of its answer", async () => {
    const page = await browser?.newPage({ baseURL: server.url });
    if (!page) throw new Error("no browser");
    await page.goto("/docs#submitBatch");
    const operation = page.locator("#submitBatch");
    await operation.getByText('--data-binary \'{"seconds":1}').waitFor();
    await page.getByRole("link", { name: "Watch", exact: true }).click();
    await page.goto("/docs#watch");
    await page.locator("#watch").getByText("How many tasks of the queue start before this one").first().waitFor();
    await page.close();
  });
});
