import { expect } from "chai";
import { openRoom } from "../../examples/03-waiting-room/room.ts";
import { axeFindings } from "../helpers/browser.ts";
import { deferred } from "../helpers/deferred.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";
import { launchBrowser } from "../shared/browser.ts";

describe("examples/03-waiting-room", () => {
  const served = deferred();
  let store: { readonly redisUrl: string; readonly keyPrefix: string };
  let room: Awaited<ReturnType<typeof openRoom>>;
  before(async () => {
    store = { redisUrl: storeUrl(), keyPrefix: uniquePrefix() };
    room = await openRoom({ settings: store, serve: () => served.promise });
  });
  after(async () => {
    served.resolve();
    await room.stop();
    await removeKeys(store.redisUrl, store.keyPrefix);
  });

  const ticket = async (): Promise<string> => {
    const response = await fetch(`${room.url}/tickets`, { method: "POST" });
    expect(response.status).to.equal(201);
    return ((await response.json()) as { events: string }).events;
  };

  it("shows the visitor's place, large, until it is their turn", async function () {
    this.timeout(60_000);
    const browser = await launchBrowser();
    if (!browser) return this.skip();
    try {
      await ticket();
      await ticket();
      const page = await browser.newPage();
      await page.goto(room.url);
      expect(await axeFindings(page)).to.deep.equal([]);
      await page.getByRole("button", { name: "Take a number" }).click();
      await page.locator("#number", { hasText: /^2$/ }).waitFor();
      await page.reload();
      await page.locator("#number", { hasText: /^2$/ }).waitFor();
      expect(await axeFindings(page)).to.deep.equal([]);
      served.resolve();
      await page.getByRole("heading", { name: "Come in" }).waitFor();
      expect(await page.locator("#number").textContent()).to.match(/^\d+$/);
    } finally {
      await browser.close();
    }
  });

  it("gives the page a link that lets it watch its own task, and do nothing else", async () => {
    await ticket();
    const events = await ticket();
    const watched = new AbortController();
    const response = await fetch(events, { headers: { Origin: room.url }, signal: watched.signal });
    expect(response.headers.get("access-control-allow-origin")).to.equal(room.url);
    const other = await ticket();
    expect((await fetch(events.replace(/\?.*/, ""))).status).to.equal(401);
    expect((await fetch(new URL(new URL(other).pathname + new URL(events).search, events))).status).to.be.oneOf([
      401, 404,
    ]);
    const cancel = await fetch(events.replace("/events", ""), { method: "DELETE" });
    expect(cancel.status).to.equal(401);
    watched.abort();
  });
});
