import { once } from "node:events";
import { rmSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { testKeys } from "../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { launchBrowser } from "../shared/browser.ts";
import { ROOT } from "../shared/root.ts";
import { guideFolder, readGuide, writeGuide } from "./guide.ts";

/** The pages of the guide, by the names in their first lines. */
const PAGES = new Map(
  [...readGuide("waiting-room.md").matchAll(/^```html\n<!-- (\S+) -->\n(.*?)^```/gms)].map(
    ([, name = "", html = ""]) => [name, html],
  ),
);

describe("docs/waiting-room.md", function () {
  // The first page of a browser takes longer than all others, and on a busy machine longer than what is usually waited for.
  this.timeout(120_000);
  const keys = testKeys({ shop: ["submit"], operator: ["admin"] });
  let folder = "";
  let site: http.Server;
  let origin = "";
  let server: TestServer;
  let browser: Browser | undefined;
  let giveTicket: (input: unknown) => Promise<{ page: string; events: string }>;
  let shown = { page: "", events: "" };
  before(async function () {
    browser = await launchBrowser();
    if (!browser) return this.skip();
    const bundle = await build({
      entryPoints: [path.join(ROOT, "src/client/index.ts")],
      ...({ bundle: true, format: "esm", write: false } as const),
    });
    site = http.createServer((request, response) => {
      if (request.url === "/client.js") {
        response.writeHead(200, { "Content-Type": "text/javascript" }).end(bundle.outputFiles[0]?.contents);
        return;
      }
      const html = PAGES.get(String(request.url).slice(1)) ?? "";
      const text = html.replace(/\{\{(page|events)\}\}/g, (_, name: "page" | "events") => shown[name]);
      response.writeHead(200, { "Content-Type": "text/html" });
      response.end(`<!doctype html><title>Shop</title>${text.replace('"paihao/client"', '"/client.js"')}`);
    });
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    server = await startServer({
      ...keys.env,
      HANDLERS: path.join(ROOT, "src/handlers"),
      URL_SIGNING_KEY: "a secret of at least 16 characters",
      CORS_ORIGINS: origin,
      EMBED_ORIGINS: origin,
    });
    folder = guideFolder();
    expect(writeGuide("waiting-room.md", folder)).to.deep.equal(["ticket.ts"]);
    process.env.PAIHAO_URL = server.url;
    process.env.PAIHAO_KEY = keys.as("shop").Authorization?.replace("Bearer ", "");
    ({ giveTicket } = await import(pathToFileURL(path.join(folder, "ticket.ts")).href));
    // Another object in place of process.env would not reach the environment that os.tmpdir() reads, in other files of this process.
    delete process.env.PAIHAO_URL;
    delete process.env.PAIHAO_KEY;
  });
  after(async () => {
    await browser?.close();
    site?.closeAllConnections();
    site?.close();
    await server?.stop();
    if (folder !== "") rmSync(folder, { recursive: true });
  });

  const line = (verb: "pause" | "resume") =>
    server.send(`/v1/queues/default/${verb}`, { method: "POST", headers: keys.as("operator") });

  it("has these pages", () => {
    expect([...PAGES.keys()]).to.deep.equal(["embed.html", "eventsource.html", "client.html"]);
  });

  for (const name of ["eventsource.html", "client.html"]) {
    it(`${name} shows the place, then the result`, async () => {
      await line("pause");
      await giveTicket({ seconds: 0 });
      shown = await giveTicket({ seconds: 0 });
      const page = await browser?.newPage();
      page?.setDefaultTimeout(60_000);
      await page?.goto(`${origin}/${name}`);
      await page?.locator("#number", { hasText: /^2$/ }).waitFor();
      await line("resume");
      await page?.locator("#wait", { hasText: /^Done: .*"seconds":0/ }).waitFor();
      expect(await page?.locator("#number").textContent()).to.equal("");
      await page?.close();
    });
  }

  it("embed.html shows it in a frame", async () => {
    await line("pause");
    shown = await giveTicket({ seconds: 0 });
    const page = await browser?.newPage();
    page?.setDefaultTimeout(60_000);
    await page?.goto(`${origin}/embed.html`);
    const frame = page?.frameLocator("iframe");
    await frame?.locator(".number", { hasText: /^1$/ }).waitFor();
    await line("resume");
    await frame?.getByRole("link", { name: "Open the result" }).waitFor();
    await page?.close();
  });
});
