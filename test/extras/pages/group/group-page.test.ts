import { expect } from "chai";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { giveUp } from "../../../../src/handler/intents.ts";
import { axeFindings, cancelWithLateAnswer } from "../../../helpers/browser.ts";
import { closedGate } from "../../../helpers/gates.ts";
import { testKeys } from "../../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { launchBrowser } from "../../../shared/browser.ts";

const HTML = { Accept: "text/html" };
const lines = (...inputs: readonly unknown[]) => inputs.map((input) => `${JSON.stringify(input)}\n`).join("");

describe("the page of a group", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const submit = (id: string, queue: string, body: string) =>
    server.send(`/v1/queues/${queue}/batches?group=${id}`, {
      ...{ method: "POST", body, headers: { "Content-Type": "application/x-ndjson" } },
    });
  const page = (id: string, headers: Readonly<Record<string, string>> = HTML) =>
    server.send(`/v1/groups/${id}`, { headers });

  it("has one number for all of its tasks and the place of the last, also without its script", async () => {
    const gate = closedGate();
    await submit("three", "gated", lines(gate.input, gate.input, gate.input));
    await gate.entered;
    const pending = await page("three");
    expect(pending.status).to.equal(202);
    expect(pending.headers["content-type"]).to.equal("text/html; charset=utf-8");
    expect(pending.headers["content-security-policy"]).to.contain("script-src 'self'").and.to.not.contain("unsafe");
    expect(pending.text)
      .to.contain("0\u00a0%")
      .and.contain("0 of 3 tasks")
      .and.contain("2 waiting, 1 running")
      .and.contain("The last is at place 2 in line")
      .and.match(/<noscript><meta http-equiv="refresh" content="15"><\/noscript>/);
    gate.open();
    await server.send("/v1/groups/three/results?follow=true");
    const done = await page("three");
    expect(done.status).to.equal(200);
    expect(done.text).to.contain("Done").and.contain("3 of 3 tasks").and.not.contain('http-equiv="refresh"');
    expect((await page("three", { Accept: "application/json" })).json.state).to.equal("done");
  });

  it("is a page with its status if there is no such group, and escapes what is in the address", async () => {
    const unknown = await page("%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    expect(unknown.status).to.equal(404);
    expect(unknown.headers["content-type"]).to.match(/^text\/html/);
    expect(unknown.text).to.not.contain("<script>alert");
  });
});

describe("the page of a group in a browser", function () {
  this.timeout(60_000);
  const keys = testKeys({ owner: ["submit"] });
  let server: TestServer;
  let browser: Browser | undefined;
  before(async function () {
    browser = await launchBrowser();
    if (!browser) return this.skip();
    server = await startServer({ ...keys.env, URL_SIGNING_KEY: "a secret of at least 16 characters" });
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  /** Submits a group as the owner; returns the signed link to its page. */
  async function submit(id: string, inputs: readonly unknown[]): Promise<string> {
    const headers = keys.as("owner", { "Content-Type": "application/x-ndjson" });
    const path = `/v1/queues/gated/batches?group=${id}`;
    const answer = await server.send(path, { method: "POST", headers, body: lines(...inputs) });
    return String(answer.headers.location);
  }
  async function open(link: string, options: BrowserContextOptions = {}): Promise<Page> {
    if (!browser) throw new Error("no browser");
    const context = await browser.newContext({ baseURL: server.url, ...options });
    const page = await context.newPage();
    await page.goto(link);
    return page;
  }
  const asOwner = (): BrowserContextOptions => {
    const key = keys.as("owner").Authorization?.replace("Bearer ", "");
    return { extraHTTPHeaders: { Authorization: `Basic ${Buffer.from(`me:${key}`).toString("base64")}` } };
  };
  const says = (page: Page, id: string, text: string | RegExp) => page.locator(`#${id}`, { hasText: text }).waitFor();

  it("follows its tasks to the last, without a reload, on a small screen too", async () => {
    const [first, second] = [closedGate(), closedGate()];
    const link = await submit("followed", [first.input, second.input]);
    await first.entered;
    const page = await open(link, { viewport: { width: 320, height: 800 }, colorScheme: "dark" });
    await says(page, "live", "live");
    await says(page, "number", /^0.%$/);
    await says(page, "note", "1 waiting, 1 running");
    expect(await page.locator("#cancel").isVisible(), "a link only reads").to.equal(false);
    expect(await axeFindings(page)).to.deep.equal([]);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).to.be.at.most(320);
    await page.evaluate(() => Object.assign(globalThis, { same: true }));
    first.open();
    await second.entered;
    await says(page, "number", /^50.%$/);
    expect(await page.title()).to.equal("50\u00a0% · gated");
    second.break(giveUp({ title: "No", detail: "Too <b>blue</b>" }));
    await says(page, "headline", "Done, 1 failed");
    await says(page, "failures", "Too <b>blue</b>");
    const widths = await page
      .locator("#bar rect")
      .evaluateAll((parts) => parts.map((part) => part.getAttribute("width")));
    expect(widths, "succeeded, failed, canceled, running").to.deep.equal(["500", "500", "0", "0"]);
    expect(await page.locator("#failures a").count(), "the link to a group opens none of its tasks").to.equal(0);
    await says(page, "below", "2 of 2 tasks");
    expect(await page.evaluate(() => "same" in globalThis)).to.equal(true);
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.context().close();
    const own = await open("/v1/groups/followed", asOwner());
    await own.locator("#failures a").click();
    await says(own, "detail", "Too <b>blue</b>");
    await own.context().close();
  });

  it("cancels all of its tasks for their caller, after a question", async () => {
    const gate = closedGate();
    await submit("canceled", [gate.input, gate.input, gate.input]);
    await gate.entered;
    const page = await open("/v1/groups/canceled", asOwner());
    await page.locator("#cancel").click();
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.locator("#keep").click();
    await says(page, "headline", "In progress");
    await page.locator("#cancel").click();
    await page.locator("#end").click();
    await says(page, "headline", "Canceled");
    expect(await page.locator("#cancel").isVisible()).to.equal(false);
    await page.context().close();
  });

  it("shows the end, even if the answer to the cancel arrives after it", async () => {
    const gate = closedGate();
    await submit("overtaken", [gate.input]);
    await gate.entered;
    const page = await open("/v1/groups/overtaken", asOwner());
    const cancel = async () => {
      await page.locator("#cancel").click();
      await page.locator("#end").click();
    };
    await cancelWithLateAnswer(page, cancel, () => says(page, "headline", "Canceled"));
    expect(await page.locator("#headline").textContent()).to.equal("Canceled");
    await page.context().close();
  });
});
