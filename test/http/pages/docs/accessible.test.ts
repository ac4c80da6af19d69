import { expect } from "chai";
import type { Browser } from "playwright-core";
import { axeFindings, launchBrowser } from "../../../helpers/browser.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";

// Not /docs: what axe finds there is of Swagger UI.
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

  for (const [path, ready] of [
    ["/docs/guides", "h1"],
    ["/docs/handlers", "h1"],
    ["/docs/errors", "h1"],
    ["/docs/operations", "h1"],
    ["/problems/unknown", "h1"],
  ] as const) {
    it(`has nothing that axe finds wrong: ${path}`, async () => {
      const page = await browser?.newPage({ baseURL: server.url, colorScheme: "dark" });
      if (!page) throw new Error("no browser");
      for (const scheme of ["dark", "light"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.goto(path);
        await page.locator(ready).first().waitFor();
        expect(
          (await axeFindings(page)).map((f) => f.slice(0, 300)),
          scheme,
        ).to.deep.equal([]);
      }
      await page.close();
    });
  }
});
