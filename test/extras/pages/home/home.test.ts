import { expect } from "chai";
import type { Browser } from "playwright-core";
import { shippedHandlersDir } from "../../../../src/handler/load.ts";
import { axeFindings } from "../../../helpers/browser.ts";
import { testKeys } from "../../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { launchBrowser } from "../../../shared/browser.ts";

const HTML = { Accept: "text/html,*/*;q=0.8" };

describe("the page at the root", function () {
  this.timeout(60_000);
  let server: TestServer;
  let browser: Browser | undefined;
  before(async () => {
    server = await startServer({ HANDLERS: shippedHandlersDir });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await server.stop();
  });

  it("leads a browser to what there is, and is not found by others", async () => {
    const page = await server.send("/", { headers: HTML });
    expect([page.status, page.headers["content-type"]]).to.deep.equal([200, "text/html; charset=utf-8"]);
    const links = [...page.text.matchAll(/href="([^"]+)"/g)].map(([, path = ""]) => path);
    expect(links).to.include.members(["/dashboard", "/docs", "/v1/queues"]);
    for (const path of [...links, "/favicon.ico"]) expect((await server.send(path)).status, path).to.equal(200);
    const other = await server.send("/");
    expect([other.status, other.json.type]).to.deep.equal([404, "/problems/not-found"]);
    expect([page.headers.vary, other.headers.vary].every((names) => /\bAccept\b/.test(String(names)))).to.equal(true);
  });

  it("forms a line with the shipped handler, and opens the page of its last task beside", async function () {
    if (browser === undefined) return this.skip();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    const button = page.getByRole("button", { name: "Form a line" });
    await button.waitFor();
    expect(await axeFindings(page)).to.deep.equal([]);
    const opened = context.waitForEvent("page");
    await button.click();
    const last = await opened;
    await last.waitForURL("**/v1/requests/*");
    await last.getByRole("heading", { name: "Place in line" }).waitFor();
    expect((await server.send("/v1/queues/default")).json.waiting).to.be.at.least(10);
    expect(await page.getByRole("link", { name: "The last one" }).getAttribute("href")).to.equal(
      new URL(last.url()).pathname,
    );
    await context.close();
  });

  it("has no such button where keys are needed", async function () {
    if (browser === undefined) return this.skip();
    const keyed = await startServer({ HANDLERS: shippedHandlersDir, ...testKeys({ ada: ["submit"] }).env });
    const page = await browser.newPage();
    const asked = page.waitForResponse("**/v1/queues/default");
    await page.goto(keyed.url);
    expect((await asked).status()).to.equal(401);
    expect(await page.getByRole("button").count()).to.equal(0);
    await page.close();
    await keyed.stop();
  });
});
