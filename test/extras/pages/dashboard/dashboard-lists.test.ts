import { expect } from "chai";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";

const ALL = 100_000;
/** The most lines of a batch. */
const LINES = 10_000;

describe("a long list in the dashboard (in Chromium, else left out)", function () {
  this.timeout(180_000);
  const test = dashboardTest();
  before(async () => {
    await test.server.send("/v1/queues/gated/pause", { method: "POST", headers: test.keys.as("boss") });
    for (let n = 0; n < ALL; n += LINES) {
      const ids = Array.from({ length: LINES }, (_, i) => `n-${String(n + i).padStart(5, "0")}`);
      const body = ids.map((id) => JSON.stringify({ id, input: {} })).join("\n");
      const headers = test.keys.as("shop", { "Content-Type": "application/x-ndjson" });
      await test.server.send("/v1/queues/gated/batches?envelope=true", { method: "POST", headers, body });
    }
    expect((await test.json("/v1/queues/gated")).waiting).to.equal(ALL);
  });

  const ids = async () => {
    const shown = test.page.getByRole("table").locator("tbody .id");
    await shown.first().waitFor();
    return shown.allTextContents();
  };
  const count = (text: string) => test.page.getByRole("navigation", { name: "Pages" }).getByText(text).waitFor();

  it("shows its total count, and pages", async () => {
    await test.open("/dashboard/queues/gated");
    await count("1–50 of 100,000");
    await test.page.getByRole("button", { name: "Next page" }).click();
    await count("51–100 of 100,000");
    expect((await ids())[0]).to.equal("n-00050");
    await test.page.getByRole("button", { name: "First page" }).click();
    await count("1–50 of 100,000");
  });

  it("is counted by caller when a person asks, each number a link to its tasks", async () => {
    const { page } = test;
    await test.open("/dashboard/queues/gated");
    await page.getByText("By caller").click();
    const row = page.getByRole("row", { name: /^shop 10,000/ });
    await page.getByText("only their beginnings were counted").waitFor();
    await row.getByRole("link", { name: "10,000" }).click();
    await count("50+ match");
    expect(new URL(page.url()).search).to.equal("?caller=shop");
  });

  it("is filtered with one request per page, and says how much of it was searched", async () => {
    const { page } = test;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await test.open("/dashboard/queues/gated?caller=shop");
    await count("50+ match");
    await page.goto("/dashboard/queues/gated?idPrefix=n-0012");
    await count("10+ match so far: 10,000 of 100,000 tasks were searched");
    expect(await ids()).to.have.length(10);
    await page.goto("/dashboard/queues/gated?idPrefix=n-15");
    await page.getByText("Nothing matches among 10,000 of 100,000 tasks so far.").waitFor();
    await page.getByRole("button", { name: "Search further" }).click();
    await count("50+ more match");
    expect((await ids())[0]).to.equal("n-15000");
    await page.goto("/dashboard/queues/gated?idPrefix=nothing");
    await page.getByText("so far").waitFor();
    await page.waitForResponse("**/waiting?*");
    const lists = asked.filter((path) => path.endsWith("/waiting")).length;
    const queues = asked.filter((path) => path.endsWith("/v1/queues/gated")).length;
    expect(lists, "for as many of its queue").to.be.at.most(queues);
  });
});
