import { expect } from "chai";
import { errorEntries } from "../../../../src/errors.ts";
import { testKeys } from "../../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { launchBrowser } from "../../../shared/browser.ts";

const HTML = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

describe("the documentation page", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  /** What a page loads, as it says itself. */
  const loads = (html: string) =>
    [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map((match) => String(match[1]));

  it("loads nothing from other hosts, under a policy that allows nothing else (CSP Level 3)", async () => {
    const page = await server.send("/docs");
    expect(page.status).to.equal(200);
    expect(page.headers["content-type"]).to.equal("text/html; charset=utf-8");
    const policy = String(page.headers["content-security-policy"]);
    for (const directive of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
    ]) {
      expect(policy.split("; ")).to.include(directive);
    }
    expect(policy).to.not.match(/unsafe|https?:|\*/);
    expect(page.text).to.not.match(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|https?:\/\//);
    const files = loads(page.text);
    expect(files).to.have.length(2);
    for (const file of files) {
      const loaded = await server.send(file);
      expect(loaded.status, file).to.equal(200);
      expect(loaded.headers["content-type"], file).to.match(/^text\/(css|javascript); charset=utf-8$/);
      const headers = { "If-None-Match": String(loaded.headers.etag), "Cache-Control": "no-cache" };
      const again = await server.send(file, { headers });
      expect([again.status, again.text], file).to.deep.equal([304, ""]);
    }
  });

  it("shows the queues once a key is entered, and no longer when it is removed (in Chromium, else left out)", async function () {
    this.timeout(60_000);
    const browser = await launchBrowser();
    if (!browser) return this.skip();
    const keys = testKeys({ ann: ["submit"] });
    const guarded = await startServer(keys.env);
    try {
      const page = await browser.newPage();
      await page.goto(`${guarded.url}/docs`);
      const queue = page.getByText("Submit to the queue checked");
      await page.getByText("With an API key").waitFor();
      expect(await queue.count()).to.equal(0);
      await page.getByLabel("API key").fill(String(keys.as("ann").Authorization).replace("Bearer ", ""));
      await page.getByRole("button", { name: "Show my queues" }).click();
      await queue.click();
      await page.getByText(`curl -i -X POST "${guarded.url}/v1/queues/checked/requests"`).waitFor();
      await page.getByText('-H "Authorization: Bearer $PAIHAO_KEY"').waitFor();
      await page.getByRole("button", { name: "Remove the key" }).click();
      await queue.waitFor({ state: "detached" });
    } finally {
      await browser.close();
      await guarded.stop();
    }
  });

  it("serves no other file", async () => {
    for (const path of ["/docs/package.json", "/docs/..%2f..%2fapp.ts", "/docs/__proto__", "/pages/docs.js"]) {
      const answer = await server.send(path);
      expect(answer.status, path).to.equal(404);
      expect(answer.json.type).to.equal("/problems/not-found");
    }
  });

  it("explains every code of the catalogue, as JSON and as a page (RFC 9457 §3.1.1)", async () => {
    for (const { code, status, title } of errorEntries) {
      const { json, headers } = await server.send(`/problems/${code}`);
      expect(json).to.include({ type: `/problems/${code}`, code, status, title });
      expect(json.example).to.include({ type: `/problems/${code}`, status });
      expect(headers.vary).to.contain("Accept");
      const page = await server.send(`/problems/${code}`, { headers: HTML });
      expect([page.status, page.headers["content-type"]]).to.deep.equal([200, "text/html; charset=utf-8"]);
      for (const text of [code, String(status), "What it means", "What to do", "For example"]) {
        expect(page.text, code).to.contain(text);
      }
      expect(page.text).to.not.match(/`|\{\{/);
      expect(page.headers["content-security-policy"]).to.contain("default-src 'none'");
      for (const file of loads(page.text)) expect((await server.send(file)).status, file).to.equal(200);
    }
  });
});
