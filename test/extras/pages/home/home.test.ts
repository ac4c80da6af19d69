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

  it("shows the lines, how to join one, and forms one with the shipped handler, whose last page opens beside", async function () {
    if (browser === undefined) return this.skip();
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    const button = page.getByRole("button", { name: "Form a line" });
    await button.waitFor();
    await page.getByText("0 running, 0 waiting; a new one starts at once").waitFor();
    const curl = `curl -i ${server.url}/v1/queues/default/requests -H 'Content-Type: application/json' -d '{"seconds":3}'`;
    await page.getByText(curl, { exact: true }).waitFor();
    expect(await axeFindings(page)).to.deep.equal([]);
    const opened = context.waitForEvent("page");
    await button.click();
    const last = await opened;
    await last.waitForURL("**/v1/requests/*");
    await last.getByRole("heading", { name: "Place in line" }).waitFor();
    expect((await server.send("/v1/queues/default")).json.waiting).to.be.at.least(10);
    await page.getByText(/1 running, 1\d waiting/).waitFor();
    expect(await page.getByRole("link", { name: "The last one" }).getAttribute("href")).to.equal(
      new URL(last.url()).pathname,
    );
    await context.close();
  });

  it("shows no queue where keys are needed, but those of the key of this tab", async function () {
    if (browser === undefined) return this.skip();
    const keys = testKeys({ ada: ["submit"] });
    const keyed = await startServer({ HANDLERS: shippedHandlersDir, ...keys.env });
    const page = await browser.newPage();
    await page.goto(keyed.url);
    await page.getByText("This server has API keys: sign in").waitFor();
    expect(await page.getByRole("button").count()).to.equal(0);
    const key = String(keys.as("ada").Authorization).replace("Bearer ", "");
    await page.evaluate(`sessionStorage.setItem("paihao.key", "${key}")`);
    await page.reload();
    await page.getByRole("button", { name: "Form a line" }).waitFor();
    await page.close();
    await keyed.stop();
  });
});
