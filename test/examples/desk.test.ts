import { expect } from "chai";
import { openDesk } from "../../examples/desk/desk.ts";
import { axeFindings } from "../helpers/browser.ts";
import { storeUrl, uniquePrefix } from "../helpers/store/run-store.ts";
import { removeKeys } from "../helpers/store/scan.ts";
import { launchBrowser } from "../shared/browser.ts";

describe("examples/desk", () => {
  let store: { readonly redisUrl: string; readonly keyPrefix: string };
  let desk: Awaited<ReturnType<typeof openDesk>>;
  before(async () => {
    store = { redisUrl: storeUrl(), keyPrefix: uniquePrefix() };
    desk = await openDesk(store);
  });
  after(async () => {
    await desk.stop();
    await removeKeys(store.redisUrl, store.keyPrefix);
  });

  it("calls visitors one after another, when the clerk presses a button", async function () {
    this.timeout(60_000);
    const browser = await launchBrowser();
    if (!browser) return this.skip();
    try {
      const [first, second, clerk] = await Promise.all([browser.newPage(), browser.newPage(), browser.newPage()]);
      const ticket = (page: typeof first) => page.frameLocator("#ticket");
      for (const page of [first, second]) {
        await page.goto(desk.url);
        expect(await axeFindings(page)).to.deep.equal([]);
        await page.getByRole("button", { name: "Take a number" }).click();
        await ticket(page).getByRole("heading").waitFor();
      }
      await ticket(first).getByRole("heading", { name: "It is your turn" }).waitFor();
      await ticket(second).locator("#number", { hasText: /^1$/ }).waitFor();
      await second.reload();
      await ticket(second).locator("#number", { hasText: /^1$/ }).waitFor();
      await clerk.goto(`${desk.url}/clerk`);
      expect(await axeFindings(clerk)).to.deep.equal([]);
      await clerk.getByRole("button", { name: "Next" }).click();
      await clerk.getByRole("heading", { name: "Now: number 2" }).waitFor();
      await ticket(second).getByRole("heading", { name: "It is your turn" }).waitFor();
      await ticket(first).getByRole("heading", { name: "Done" }).waitFor();
      await clerk.getByRole("button", { name: "Next" }).click();
      await clerk.getByRole("heading", { name: "Nobody waits" }).waitFor();
    } finally {
      await browser.close();
    }
  });
});
