import { expect } from "chai";
import { axeFindings } from "../../../helpers/browser.ts";
import { dashboardTest } from "../../../helpers/http/dashboard.ts";

describe("a queue of turns in the dashboard", function () {
  this.timeout(60_000);
  const test = dashboardTest({}, "turn-pages");

  const take = async (queue: string, label: string) => {
    const headers = test.keys.as("shop", { Prefer: "respond-async" });
    const path = `/v1/queues/${queue}/requests?presence=3600&label=${encodeURIComponent(label)}`;
    const answer = await test.server.send(path, { method: "POST", headers });
    return String(answer.json.id);
  };
  const end = async (...ids: string[]) => {
    for (const id of ids)
      await test.server.send(`/v1/requests/${id}`, { method: "DELETE", headers: test.keys.as("boss") });
  };
  const figure = (name: string) => test.page.locator(".figures > div", { hasText: name }).locator("dd").textContent();

  it("says who holds a turn and who waits, and calls the next one after a question", async () => {
    const holder = await take("gpu", "training of Ada");
    const next = await take("gpu", "training of Bob");
    await test.open("/dashboard/queues/gpu");
    expect(await figure("Turns taken")).to.equal("1 of 1");
    expect(await figure("Longest turn")).to.equal("2 h");
    const text = (await test.page.locator("main").textContent()) ?? "";
    expect(text)
      .to.contain("training of Bob")
      .and.not.match(/worker|Dead|handler/i);
    await test.page.getByRole("link", { name: "Turns" }).click();
    const row = test.page.getByRole("row", { name: "training of Ada" });
    await row.getByRole("cell", { name: "shop" }).waitFor();
    expect(await axeFindings(test.page)).to.deep.equal([]);
    await row.getByRole("button", { name: "Call the next one" }).click();
    await test.page.getByRole("button", { name: "Do nothing" }).click();
    expect((await test.json(`/v1/requests/${holder}/status`)).state).to.equal("running");
    await row.getByRole("button", { name: "Call the next one" }).click();
    await test.page.getByRole("dialog").getByRole("button", { name: "Call the next one" }).click();
    await test.page.getByText("The turn of training of Ada is over.").waitFor();
    await test.page.getByRole("row", { name: "training of Bob" }).waitFor();
    await test.until(holder, "canceled");
    expect((await test.json(`/v1/requests/${next}/status`)).state).to.equal("running");
    await end(next);
  });

  it("has its number of turns at a time changed in its settings, and taken back", async () => {
    const ids = [await take("desks", "one"), await take("desks", "two"), await take("desks", "three")];
    await test.open("/dashboard/queues/desks");
    expect(await figure("Turns taken")).to.equal("2 of 2");
    await test.page.getByRole("button", { name: "Settings" }).click();
    expect(await axeFindings(test.page)).to.deep.equal([]);
    await test.page.getByLabel("Turns at a time").fill("3");
    await test.page.getByRole("button", { name: "Change" }).click();
    await test.until(ids[2] ?? "", "running");
    await test.page.getByText("adjusted").waitFor();
    await test.page.getByRole("button", { name: "As declared" }).click();
    await test.page.getByText("desks runs as it was declared.").waitFor();
    expect((await test.json("/v1/queues/desks")).settings.total).to.deep.equal({ declared: 2, now: 2 });
    await end(...ids);
  });

  it("has numbers taken in a form, which says that its page keeps them", async () => {
    await test.open("/dashboard/queues/gpu");
    await test.page.getByRole("button", { name: "Take a number" }).click();
    await test.page.getByLabel("What it is for").fill("a walk-in");
    await test.page.getByRole("form").getByRole("button", { name: "Take a number" }).click();
    const link = test.page.getByRole("link", { name: "its page" });
    await link.waitFor();
    const [, id = ""] = /requests\/([^/]+)\/status/.exec((await link.getAttribute("href")) ?? "") ?? [];
    expect(await test.json(`/v1/requests/${id}/status`)).to.include({ state: "running", label: "a walk-in" });
    await end(id);
  });

  it("is among the queues that move, without workers", async () => {
    const ids = [await take("gpu", "one"), await take("gpu", "two")];
    await test.open("/dashboard");
    await test.page.getByText("All 3 queues move.").waitFor();
    expect(await test.page.locator("main").textContent()).to.not.contain("no worker");
    await test.page.goto(`/dashboard/tasks/${ids[0]}`);
    await test.page.getByText("Holds a turn").waitFor();
    await test.page.getByRole("button", { name: "Call the next one" }).waitFor();
    expect(await axeFindings(test.page)).to.deep.equal([]);
    await end(...ids);
  });
});
