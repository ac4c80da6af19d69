import { expect } from "chai";
import { axeFindings } from "../../../helpers/browser.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";
import { eventually } from "../../../shared/eventually.ts";
import { type ModelServer, startModelServer } from "../../../shared/model-server.ts";
import { reservePort } from "../../../shared/ports.ts";

describe("a queue with a door in the dashboard", function () {
  this.timeout(60_000);
  let upstream: ModelServer;
  let door = "";
  before(async () => {
    // Its first answer goes on until it is ended.
    upstream = await startModelServer({ tokenMs: 60_000 });
    const port = await reservePort();
    door = `http://127.0.0.1:${port}`;
    Object.assign(process.env, { DOOR_TARGET: upstream.url, DOOR_PORT: String(port) });
  });
  const test = dashboardTest({}, "door-pages");
  after(async () => {
    delete process.env.DOOR_TARGET;
    delete process.env.DOOR_PORT;
    await upstream.stop();
  });

  it("says which request is served and who waits, and ends one, also for the API", async () => {
    const ask = (model: string) =>
      fetch(`${door}/v1/chat/completions`, {
        method: "POST",
        headers: test.keys.as("shop", { "Content-Type": "application/json" }),
        body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
      });
    const served = ask("small");
    await eventually(() => upstream.asked.length === 1);
    const waits = ask("error-400");
    await eventually(async () => (await test.json("/v1/queues/model")).waiting === 1);
    expect((await test.json("/v1/queues/model")).turns).to.deep.equal({ longest: null, door: true });
    const [{ id }] = (await test.json("/v1/queues/model/running")).items;
    const headers = test.keys.as("boss", { Accept: "text/html" });
    const page = (await test.server.send(`/v1/requests/${id}/status`, { headers })).text;
    expect(page, "the page of the task")
      .to.contain("Being served")
      .and.not.match(/your turn|Work now/i);
    await test.open("/dashboard/queues/model");
    await test.page.locator(".figures > div", { hasText: "Served now" }).getByText("1 of 1").waitFor();
    await test.page.getByRole("link", { name: "Served" }).click();
    const row = test.page.getByRole("row", { name: "POST /v1/chat/completions" });
    await row.getByRole("cell", { name: "shop" }).waitFor();
    expect(await test.page.locator("main").textContent()).not.to.match(/turn|worker|Dead|handler/i);
    expect(await axeFindings(test.page)).to.deep.equal([]);
    await row.getByRole("button", { name: "End this request" }).click();
    await test.page.getByRole("button", { name: "End the request" }).click();
    await test.page.getByText("POST /v1/chat/completions is ended.").waitFor();
    const answer = await served;
    expect([answer.status, answer.headers.get("x-should-retry")]).to.deep.equal([503, "false"]);
    expect((await waits).status, "the next one is served").to.equal(400);
    expect([upstream.aborted(), upstream.finished()]).to.deep.equal([1, 1]);
  });
});
