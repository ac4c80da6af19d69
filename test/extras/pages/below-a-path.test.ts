import { expect } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { shippedHandlersDir } from "../../../src/handler/load.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { hasNginx, type Nginx, startNginx } from "../../helpers/nginx.ts";
import { launchBrowser } from "../../shared/browser.ts";
import { eventually } from "../../shared/eventually.ts";

describe("pages of a server below a path of nginx", function () {
  this.timeout(120_000);
  let server: TestServer;
  let nginx: Nginx;
  let browser: Browser | undefined;
  let context: BrowserContext;
  let page: Page;
  /** What was asked for elsewhere, or answered with an error. */
  const astray: string[] = [];
  before(async function () {
    browser = await launchBrowser();
    if (!browser || !hasNginx) return this.skip();
    server = await startServer({ HANDLERS: shippedHandlersDir, TRUST_PROXY: "true" });
    nginx = await startNginx(`location /tasks/ {
      proxy_pass ${server.url}/;
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header X-Forwarded-Prefix /tasks;
      proxy_set_header X-Forwarded-Host $http_host;
    }`);
  });
  after(async () => {
    await browser?.close();
    await nginx?.stop();
    await server?.stop();
  });
  beforeEach(async () => {
    context = await (browser as Browser).newContext();
    context.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (!pathname.startsWith("/tasks/") || response.status() >= 400) astray.push(`${response.status()} ${pathname}`);
    });
    page = await context.newPage();
    page.on("pageerror", (error) => astray.push(String(error)));
  });
  afterEach(async () => {
    await context.close();
    expect(astray.splice(0)).to.deep.equal([]);
  });

  it("form a line from the root, and follow a task to its result", async () => {
    await page.goto(`${nginx.url}/tasks/`);
    const opened = context.waitForEvent("page");
    await page.getByRole("button", { name: "Form a line" }).click();
    const last = await opened;
    await last.waitForURL("**/tasks/v1/requests/*");
    // It is the 404 of a pending task.
    astray.splice(0);
    await last.locator("#live").waitFor();
    await server.send("/v1/queues/default/waiting");
    const { json } = await server.send("/v1/queues/default/running");
    const [{ id }] = json.items;
    const shown = await context.newPage();
    await shown.goto(`${nginx.url}/tasks/v1/requests/${id}/status`);
    await shown.getByRole("heading", { name: "Done" }).waitFor({ timeout: 60_000 });
    expect(await shown.locator("#result").getAttribute("href")).to.equal(`/tasks/v1/requests/${id}?raw=true`);
    await shown.locator("#result").click();
    await shown.waitForURL(/\?raw=true$/);
  });

  it("show the views of the dashboard, act, and lead back", async () => {
    await page.goto(`${nginx.url}/tasks/dashboard`);
    await page.getByRole("link", { name: "default", exact: true }).first().click();
    await page.waitForURL("**/tasks/dashboard/queues/default");
    await page.getByRole("button", { name: "Pause" }).click();
    await eventually(async () => (await server.send("/v1/queues/default")).json.paused === true);
    const id = await server.enqueue("default", { seconds: 0 });
    await page.goto(`${nginx.url}/tasks/dashboard/tasks/${id}`);
    await page.getByRole("link", { name: "Page of the task" }).waitFor();
    expect(await page.getByRole("link", { name: "Page of the task" }).getAttribute("href")).to.equal(
      `/tasks/v1/requests/${id}/status`,
    );
    await page.getByRole("link", { name: "Queues" }).first().click();
    await page.waitForURL("**/tasks/dashboard");
    for (const view of ["Workers", "Schedules", "Events"]) {
      await page.getByRole("link", { name: view, exact: true }).click();
      await page.getByRole("heading", { name: view, exact: true }).waitFor();
    }
    await server.send("/v1/queues/default/resume", { method: "POST" });
  });

  it("send the requests of the API reference there", async () => {
    await page.goto(`${nginx.url}/tasks/docs#health`);
    const curl = (await page.getByLabel("curl", { exact: true }).textContent()) ?? "";
    const [address = ""] = /http[^"]+/.exec(curl) ?? [];
    expect(address).to.equal(`${nginx.url}/tasks/healthz`);
    expect((await fetch(address)).status).to.equal(200);
  });
});
