import { expect } from "chai";
import { Keys, START } from "../../../../src/store/keys.ts";
import { connectOnce } from "../../../../src/store/servers/connect-once.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";
import { storeUrl } from "../../../helpers/store/run-store.ts";
import { eventually } from "../../../shared/eventually.ts";

const ALL = 600;
const HOUR_MS = 3_600_000;

describe("the dashboard of a server with hundreds of queues (in Chromium, else left out)", function () {
  this.timeout(120_000);
  const test = dashboardTest();
  /** Registers them as another process would that goes on to do so, with how they stood in the last intervals. */
  before(async () => {
    const redis = await connectOnce(storeUrl());
    try {
      const [tag = ""] = new Keys(test.server.prefix, 1).tags;
      const now = Date.now();
      const sample = (n: number, ago: number) => `${Math.floor(now / 10_000) - 1 - ago} ${n} 0 0 0 0 0 0 0 - - - -`;
      for (let from = 0; from < ALL; from += 200) {
        const some = redis.pipeline();
        for (let n = from; n < from + 200; n += 1) {
          const queue = `q-${String(n).padStart(4, "0")}`;
          some.hset(`${tag}${START.queues}`, queue, `${now + HOUR_MS} 3 ${HOUR_MS} ${HOUR_MS} ${HOUR_MS}`);
          some.rpush(`${tag}${START.history}${queue}`, sample(n, 0), sample(n + 1, 9));
        }
        await some.exec();
      }
    } finally {
      redis.disconnect();
    }
    const registered = async () => (await test.json("/v1/queues")).items.length > ALL;
    expect(await eventually(registered)).to.equal(true);
  });

  it("shows its first rows before the others and before the charts, then all", async () => {
    const { page } = test;
    page.setDefaultTimeout(60_000);
    let letHistory = () => {};
    const held = new Promise<void>((resolve) => {
      letHistory = resolve;
    });
    await page.route("**/v1/history?*", (route) => held.then(() => route.continue()));
    await page.addInitScript(`new MutationObserver((_, observer) => {
      globalThis.firstRows = document.querySelectorAll("tbody tr").length;
      if (globalThis.firstRows > 0) observer.disconnect();
    }).observe(document, { childList: true, subtree: true });`);
    await test.open("/dashboard");
    await page
      .locator("tbody tr")
      .nth(ALL - 1)
      .waitFor({ state: "attached" });
    expect(await page.evaluate("firstRows")).to.be.within(1, 100);
    expect(await page.locator(".plot").count(), "without charts").to.equal(0);
    letHistory();
    await page
      .locator('[aria-label="q-0599, waiting in the last 15 minutes: at most 600"]')
      .waitFor({ state: "attached" });
    expect(await page.locator(".plot").count()).to.equal(4);
  });

  it("gets long lists compressed; other callers get them in a form they accept", async () => {
    for (const [path, list] of [
      ["/v1/queues", "items"],
      ["/v1/history?step=60", "queues"],
    ] as const) {
      const asked = (coding: string) =>
        fetch(test.server.url + path, {
          headers: { ...(test.keys.as("boss") as Record<string, string>), "Accept-Encoding": coding },
        });
      const [plain, packed] = [await asked("identity"), await asked("br;q=1, gzip")];
      expect([plain.headers.get("content-encoding"), packed.headers.get("content-encoding")]).to.deep.equal([
        null,
        "gzip",
      ]);
      for (const { headers } of [plain, packed]) {
        expect(headers.get("vary")).to.match(/\bAccept-Encoding\b/);
        expect(headers.get("content-type")).to.equal("application/json; charset=utf-8");
      }
      const names = async (answer: Response) =>
        ((await answer.json()) as Record<string, { name: string }[]>)[list]?.map(({ name }) => name);
      const known = await names(plain);
      expect(known).to.have.length.above(ALL);
      expect(await names(packed)).to.deep.equal(known);
      const bytes = await test.server.send(path, { headers: test.keys.as("boss", { "Accept-Encoding": "gzip" }) });
      expect(bytes.body.length).to.be.below(200_000);
    }
    const refused = await test.server.send("/v1/queues", {
      headers: test.keys.as("boss", { "Accept-Encoding": "gzip;q=0" }),
    });
    expect(refused.headers["content-encoding"]).to.equal(undefined);
  });
});
