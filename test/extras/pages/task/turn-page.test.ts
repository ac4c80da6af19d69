import { expect } from "chai";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { axeFindings } from "../../../helpers/browser.ts";
import { testKeys } from "../../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { launchBrowser } from "../../../shared/browser.ts";
import { eventually } from "../../../shared/eventually.ts";

const HANDLERS = new URL("../../../fixtures/handlers/turn-pages", import.meta.url).pathname;

/** Notes tones and notifications instead of making them. */
const LISTEN = `globalThis.tones = []; globalThis.shown = [];
  AudioContext.prototype.createOscillator = () => ({
    frequency: {}, connect: (next) => next, stop() {}, start(at) { tones.push(at); },
  });
  AudioContext.prototype.createGain = () => ({
    gain: { setValueAtTime() {}, linearRampToValueAtTime() {} }, connect: (next) => next,
  });
  globalThis.Notification = class { static permission = "granted"; constructor(title, { body }) { shown.push(title + ": " + body); } };
  document.hasFocus = () => false;`;

describe("the page of a turn in a browser", function () {
  this.timeout(60_000);
  const keys = testKeys({ ada: ["submit"] });
  let server: TestServer;
  let open: TestServer;
  let browser: Browser;
  before(async function () {
    const launched = await launchBrowser();
    if (!launched) return this.skip();
    browser = launched;
    const env = { HANDLERS, EMBED_ORIGINS: "https://shop.example" };
    open = await startServer(env);
    server = await startServer({ ...env, ...keys.env, URL_SIGNING_KEY: "a secret of at least 16 characters" });
  });
  after(async () => {
    await browser?.close();
    await open?.stop();
    await server?.stop();
  });

  /** Takes a number; returns the id and the link to the page. */
  async function take(from: TestServer, queue: string, search = ""): Promise<{ id: string; link: string }> {
    const headers = from === server ? keys.as("ada", { Prefer: "respond-async" }) : { Prefer: "respond-async" };
    const { json } = await from.send(`/v1/queues/${queue}/requests${search}`, { method: "POST", headers });
    const { href } = json.links.find(({ rel }: { rel: string }) => rel === "monitor");
    return { id: json.id, link: href };
  }
  const end = (from: TestServer, id: string) =>
    from.send(`/v1/requests/${id}`, { method: "DELETE", headers: from === server ? keys.as("ada") : {} });
  async function visit(from: TestServer, link: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ baseURL: from.url, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await page.addInitScript(LISTEN);
    await page.goto(link);
    return page;
  }
  const asAda = (): BrowserContextOptions => {
    const key = keys.as("ada").Authorization?.replace("Bearer ", "");
    return { extraHTTPHeaders: { Authorization: `Basic ${Buffer.from(`me:${key}`).toString("base64")}` } };
  };
  const says = (page: Page, id: string, text: string | RegExp) => page.locator(`#${id}`, { hasText: text }).waitFor();
  const buttons = (page: Page) => page.getByRole("button").allTextContents();

  it("tells by sound and notification when one is called, and ends the turn with Done", async () => {
    const before = await take(open, "gpu");
    const { id, link } = await take(open, "gpu", "?label=training");
    const page = await visit(open, link);
    await says(page, "live", "live");
    await says(page, "number", /^1$/);
    expect(await buttons(page)).to.deep.equal(["Tell me when it is my turn", "Copy link", "Leave the line"]);
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.getByRole("button", { name: "Tell me" }).click();
    await says(page, "tell-told", "You will hear this sound");
    expect(await page.evaluate("[tones.length, shown]"), "so that one knows the sound").to.deep.equal([2, []]);
    await end(open, before.id);
    await says(page, "headline", "It is your turn");
    await says(page, "below", "training");
    await says(page, "detail", "Work now; press Done when you have finished.");
    await says(page, "wait", "It is yours as long as this page is open, for 2 h at most");
    expect(await page.title()).to.equal("Your turn – training");
    await page.waitForFunction("tones.length > 2");
    expect(await page.evaluate("shown")).to.deep.equal(["It is your turn: training"]);
    expect(await buttons(page)).to.deep.equal(["Done", "Copy link", "Give up"]);
    expect(await page.locator("#progress").isVisible()).to.equal(false);
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.getByRole("button", { name: "Done" }).click();
    await says(page, "headline", /^Done$/);
    expect(await buttons(page)).to.deep.equal(["Copy link"]);
    expect(await page.locator("#size, #result").count(), "there is nothing to collect").to.equal(0);
    expect((await open.send(`/v1/requests/${id}`)).status).to.equal(204);
    await page.context().close();
  });

  it("gives the turn up after a question, and says why a turn is over", async () => {
    const { link } = await take(open, "gpu");
    const page = await visit(open, link);
    await page.getByRole("button", { name: "Give up" }).click();
    await page.getByRole("heading", { name: "Give up your turn?" }).waitFor();
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.getByRole("button", { name: "Give it up" }).click();
    await says(page, "headline", "The turn is over");
    await page.goto((await take(open, "brief")).link);
    await says(page, "headline", "The turn is over");
    await says(page, "detail", "The turn lasted as long as any may.");
    await page.context().close();
  });

  it("keeps the turn while it is open, and no longer", async () => {
    const { id, link } = await take(open, "gpu", "?presence=5");
    const page = await visit(open, link);
    await says(page, "headline", "It is your turn");
    const next = await take(open, "gpu", "?presence=60");
    const stateOf = async (of: string) => {
      const { items } = (await open.send("/v1/queues/gpu/running")).json;
      return items.some((task: { id: string }) => task.id === of) ? "running" : "not";
    };
    // Longer than its presence.
    await page.waitForTimeout(7000);
    expect(await stateOf(id)).to.equal("running");
    await page.close();
    await eventually(async () => (await stateOf(next.id)) === "running");
    await end(open, next.id);
  });

  it("is the turn of somebody else for who has a link that reads, and one's own with one's key", async () => {
    const { id, link } = await take(server, "gpu");
    const reader = await visit(server, link);
    await says(reader, "headline", "It is their turn");
    await says(reader, "wait", "It ends in 2 h at the latest");
    expect(await reader.title()).to.equal("Their turn – gpu");
    expect(await buttons(reader)).to.deep.equal(["Copy link"]);
    const own = await visit(server, `/v1/requests/${id}/status`, asAda());
    await says(own, "headline", "It is your turn");
    await own.getByRole("button", { name: "Done" }).click();
    await says(own, "headline", /^Done$/);
    await says(reader, "headline", /^Done$/);
    await reader.context().close();
    await own.context().close();
  });

  it("says in a frame that it is one's turn, with a way to the buttons where one has them", async () => {
    const look = async (from: TestServer, link: string, search: string) =>
      (await from.send(link + search, { headers: { Accept: "text/html" } })).text;
    const own = await take(open, "gpu", "?label=window%20two");
    const text = await look(open, own.link, "?embed=true");
    expect(text)
      .to.contain('id="headline">It is your turn<')
      .and.contain("window two")
      .and.contain(">Open your turn</a>")
      .and.match(/http-equiv="refresh"/)
      .and.not.match(/<script|<button/);
    const signed = await take(server, "gpu");
    const shown = await look(server, signed.link, "&embed=true");
    expect(shown).to.contain("It is your turn").and.not.contain("Open your turn");
    await end(open, own.id);
    await end(server, signed.id);
  });

  it("fits a narrow screen in the dark", async () => {
    const { id, link } = await take(open, "gpu", `?label=${"a-long-label-".repeat(4)}`);
    const page = await visit(open, link, { viewport: { width: 320, height: 600 }, colorScheme: "dark" });
    await says(page, "headline", "It is your turn");
    expect(await page.evaluate("document.documentElement.scrollWidth")).to.equal(320);
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.context().close();
    await end(open, id);
  });
});
