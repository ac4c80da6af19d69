import { expect } from "chai";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { axeFindings, cancelWithLateAnswer } from "../../../helpers/browser.ts";
import { closedGate } from "../../../helpers/gates.ts";
import { testKeys } from "../../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { launchBrowser } from "../../../shared/browser.ts";
import { eventually } from "../../../shared/eventually.ts";

/** Notes the longest text that is put into the output at once. */
const WATCH_PIECES = `globalThis.longest = 0;
  const note = (n) => { globalThis.longest = Math.max(globalThis.longest, n); };
  new MutationObserver((records) => {
    for (const { type, addedNodes } of records)
      if (type === "childList") for (const node of addedNodes) note(node.textContent.length);
  }).observe(document.getElementById("output-text"), { childList: true, subtree: true });`;

describe("the page of a task in a browser", function () {
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

  /** Submits as the owner; returns the id and the signed link to the page. */
  async function submit(queue: string, input: unknown, search = ""): Promise<{ id: string; link: string }> {
    const headers = keys.as("owner", { Prefer: "respond-async" });
    const path = `/v1/queues/${queue}/requests${search}`;
    const { json } = await server.send(path, { method: "POST", headers, body: input });
    const { href } = json.links.find(({ rel }: { rel: string }) => rel === "monitor");
    return { id: json.id, link: href };
  }

  async function open(link: string, options: BrowserContextOptions = {}): Promise<Page> {
    if (!browser) throw new Error("no browser");
    const context = await browser.newContext({ baseURL: server.url, ...options });
    const page = await context.newPage();
    await page.goto(link);
    return page;
  }

  /** The credentials that a browser keeps for this server. */
  const asOwner = (): BrowserContextOptions => {
    const key = keys.as("owner").Authorization?.replace("Bearer ", "");
    return { extraHTTPHeaders: { Authorization: `Basic ${Buffer.from(`me:${key}`).toString("base64")}` } };
  };
  const says = (page: Page, id: string, text: string | RegExp) => page.locator(`#${id}`, { hasText: text }).waitFor();

  it("follows the task from its place to its result, without a reload", async () => {
    const [before, own] = [closedGate(), closedGate()];
    await submit("gated", before.input);
    await before.entered;
    await submit("gated", before.input);
    const { link } = await submit("gated", own.input);
    const page = await open(link);
    await says(page, "number", /^2$/);
    await says(page, "headline", "Place in line");
    await says(page, "live", "live");
    expect(await page.title()).to.equal("Place 2 · gated");
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.evaluate(() => Object.assign(globalThis, { same: true }));
    before.open();
    const task = await own.entered;
    task.progress(42, "halfway");
    await task.write("one ");
    await task.write({ two: 2 });
    await says(page, "number", /^42.%$/);
    await says(page, "detail", "halfway");
    await says(page, "output-text", 'one {"two":2}');
    expect(await axeFindings(page)).to.deep.equal([]);
    own.open({ seats: [1, 2] });
    await says(page, "headline", "Done");
    await says(page, "shown-value", /"seats": \[\s+1,\s+2\s+\]/);
    await says(page, "size", /^application\/json, \d+ B$/);
    expect(await axeFindings(page)).to.deep.equal([]);
    expect(await page.evaluate(() => "same" in globalThis)).to.equal(true);
    await page.reload();
    await says(page, "output-text", 'one {"two":2}');
    await page.context().close();
  });

  it("shows a result by its type: only the beginning of one that is long, and links for bytes or a page", async () => {
    const kinds = ["json", "text", "image", "html", "bytes", "long", "nothing"];
    const links = await Promise.all(
      kinds.map(async (kind) => {
        const { id, link } = await submit("answers", { kind });
        await server.send(`/v1/requests/${id}/status?onPending=synchronous`, { headers: keys.as("owner") });
        return link;
      }),
    );
    const both = ["Open the result", "Download"];
    const page = await open("/healthz");
    const seen: Record<string, unknown> = {};
    for (const [i, kind] of kinds.entries()) {
      await page.goto(links[i] ?? "");
      await says(page, "size", /./);
      const value = page.locator("#shown-value > *");
      if (i < 3) await value.waitFor();
      if (kind === "long") await page.getByText("Only the beginning is shown.").waitFor();
      if (kind === "image") {
        expect(await value.evaluate((image) => Reflect.get(image, "naturalWidth"))).to.equal(1);
        expect(await axeFindings(page)).to.deep.equal([]);
      }
      const size = await page.locator("#size").textContent();
      const shown = (await value.allTextContents()).map((text) => text.slice(0, 40));
      const offered = await page.locator(".result a").allTextContents();
      seen[kind] = [kind === "long" ? shown.length : shown, offered, size];
    }
    expect(seen).to.deep.equal({
      json: [['{\n  "grüße": "世界 🎫"\n}'], both, "application/json, 25 B"],
      text: [["plain — text"], both, "text/plain, 14 B"],
      image: [[""], both, "image/gif, 42 B"],
      html: [[], both, "text/html, 25 B"],
      bytes: [[], ["Download"], "application/octet-stream, 4 B"],
      long: [2, both, "application/json, 300 kB"],
      nothing: [[], [], "The task has no result to show."],
    });
    await page.context().close();
  });

  it("shows a result even if a proxy that compresses removes its length", async () => {
    const shown = [];
    for (const kind of ["json", "long", "image"]) {
      const { id, link } = await submit("answers", { kind });
      await server.send(`/v1/requests/${id}/status?onPending=synchronous`, { headers: keys.as("owner") });
      const page = await open("/healthz");
      await page.route(new RegExp(`/v1/requests/${id}\\?`), async (route) => {
        const answer = await route.fetch();
        const { "content-length": _, ...headers } = answer.headers();
        await route.fulfill({ response: answer, headers });
      });
      await page.goto(link);
      await says(page, "size", /^[a-z]+\/[a-z+-]+$/);
      if (kind !== "image") await says(page, "shown-value", /./);
      shown.push([await page.locator("#shown-value").count(), await page.locator("#result").isVisible()]);
      await page.context().close();
    }
    expect(shown).to.deep.equal([
      [1, true],
      [1, true],
      [0, true],
    ]);
  });

  it("keeps the end of a long output, with a link to all of it, and adds to it without writing the rest anew", async () => {
    const gate = closedGate();
    const { id, link } = await submit("gated", gate.input);
    const task = await gate.entered;
    const page = await open(link);
    await says(page, "live", "live");
    await task.write("the beginning\n");
    await says(page, "output-text", "the beginning");
    await page.evaluate(WATCH_PIECES);
    for (let n = 0; n < 60; n += 1) await task.write(`${n} ${"word ".repeat(400)}\n`);
    await task.write("the end");
    await says(page, "output-text", /the end$/);
    await says(page, "output-cut", "Only the end is shown");
    const all = page.getByRole("link", { name: "Open all of it" });
    expect(await all.getAttribute("href")).to.match(new RegExp(`^/v1/requests/${id}/output\\?`));
    const seen = (await page.evaluate(
      `({ chars: document.getElementById("output-text").textContent.length, longest: globalThis.longest,
          left: document.getElementById("output-text").scrollHeight - document.getElementById("output-text").scrollTop
            - document.getElementById("output-text").clientHeight })`,
    )) as { chars: number; longest: number; left: number };
    expect(seen.chars).to.be.within(60_000, 75_000);
    expect(seen.longest, "characters of a piece that was written").to.be.below(10_000);
    expect(seen.left, "px from the end").to.be.below(40);
    expect(await axeFindings(page)).to.deep.equal([]);
    gate.open();
    await says(page, "headline", "Done");
    await page.reload();
    await says(page, "output-text", /the end$/);
    await page.context().close();
  });

  it("no longer says live or any moment now when the server has stopped answering", async () => {
    const { link } = await submit("default", 1, "?delay=12");
    const context = await browser?.newContext({ baseURL: server.url });
    if (!context) throw new Error("no browser");
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(link);
    await says(page, "live", "live");
    await says(page, "wait", "Starts in");
    // The connection of the events stays open, as that to a machine that has lost its power.
    await page.route(/\/status/, (route) => route.abort());
    await page.clock.runFor(20_000);
    await page.locator("#trouble", { hasText: "Connection lost" }).waitFor();
    expect(await page.locator("#live").isVisible()).to.equal(false);
    await page.clock.runFor(40_000);
    expect(await page.locator("#wait").textContent()).to.equal("");
    await page.unroute(/\/status/);
    await page.clock.runFor(10_000);
    await says(page, "live", "live");
    await context.close();
  });

  it("says when a task starts before any has ended, once the running one reports progress", async () => {
    const gate = closedGate();
    await submit("gated-too", gate.input);
    const running = await gate.entered;
    const { link } = await submit("gated-too", gate.input);
    const page = await open("/healthz");
    await page.clock.install();
    await page.goto(link);
    await says(page, "live", "live");
    expect(await page.locator("#wait").textContent()).to.equal("");
    running.progress(40);
    await eventually(async () => (await server.send(link)).json.eta !== null);
    await page.clock.runFor(6000);
    await says(page, "wait", /^(Starts in|Any moment)/);
    gate.open();
    await page.context().close();
  });

  it("says that the result has expired while it is open", async () => {
    const { link } = await submit("brief", {});
    const page = await open(link);
    await says(page, "headline", "Expired");
    expect(await page.locator("#result").isVisible()).to.equal(false);
    expect(await page.locator("#shown").isVisible()).to.equal(false);
    await page.context().close();
  });

  it("copies its link with the signature; whoever has it sees the page without a key, but cannot cancel", async () => {
    const { link } = await submit("default", 1, "?delay=3600");
    const page = await open(link.replace(/\?.*/, ""), asOwner());
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy link" }).click();
    await says(page, "told", "Copied");
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).to.match(/\/status\?expires=\d+&signature=/);
    const other = await open(String(copied));
    await says(other, "headline", "Scheduled for later");
    expect(await other.getByRole("button").allTextContents()).to.deep.equal(["Copy link"]);
    await page.context().close();
    await other.context().close();
  });

  it("cancels for those who may, after a confirmation", async () => {
    const { id } = await submit("default", 1, "?delay=3600");
    const page = await open(`/v1/requests/${id}/status`, asOwner());
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.getByRole("button", { name: "Keep it" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await says(page, "headline", "Canceled");
    expect(await page.getByRole("button").allTextContents()).to.deep.equal(["Copy link"]);
    await page.context().close();
  });

  it("shows the end, even if the answer to the cancel arrives after it", async () => {
    const gate = closedGate();
    const { id } = await submit("gated", gate.input);
    await gate.entered;
    const page = await open(`/v1/requests/${id}/status`, asOwner());
    const cancel = async () => {
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Cancel the task" }).click();
    };
    await cancelWithLateAnswer(page, cancel, () => says(page, "headline", "Canceled"));
    expect(await page.locator("#headline").textContent()).to.equal("Canceled");
    await page.context().close();
  });

  it("fits a narrow screen, is legible in dark mode, and does not animate for those who prefer that", async () => {
    const { link } = await submit("default", 1, "?delay=3600");
    const small = { viewport: { width: 320, height: 600 }, colorScheme: "dark" } as const;
    const page = await open(link, { ...small, reducedMotion: "reduce" });
    await says(page, "live", "live");
    const { moving, wide } = (await page.evaluate(
      "({ moving: document.getAnimations().length, wide: document.documentElement.scrollWidth })",
    )) as { moving: number; wide: number };
    expect([moving, wide]).to.deep.equal([0, 320]);
    expect(await axeFindings(page)).to.deep.equal([]);
    await page.context().close();
  });
});
