import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { build } from "esbuild";
import { deferred } from "../helpers/deferred.ts";
import { closedGate } from "../helpers/gates.ts";
import { testKeys } from "../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) =>
  existsSync(file),
);

/** What the page does; it has `url`, `key`, and the name of a `gate`. */
const SCRIPT = `
import { PaihaoClient, TaskFailed } from "/client.js";
const client = new PaihaoClient({ url, key });
const seen = [], heard = [];
const count = await client.run("words", { words: ["one", "two"] }, {
  onUpdate: (status) => seen.push(status.state),
  onOutput: (data) => heard.push(data),
});
const bytes = await client.run("mirror", new Blob([new Uint8Array([1, 2, 255])], { type: "image/png" }));
const page = await client.run("page", { body: "<p>", type: "text/html" });
const accepted = await client.submit("greet", { name: "Ada" }, { priority: 1, id: "from-a-page" });
const again = await client.submit("greet", { name: "Ada" }, { id: "from-a-page" });
const { greeting } = await client.result(accepted);
const linked = await new PaihaoClient({ url }).result(accepted.href);
const refused = await client.submit("greet", { name: "" }).catch((error) => error);
const failed = await client.run("refusing", { status: 503 }).catch((error) => error);
const nobody = await new PaihaoClient({ url, key: "wrong" }).queues().catch((error) => error);
const verdicts = [];
for await (const verdict of client.batch("greet", [{ name: "a" }, { name: "" }])) verdicts.push(!verdict.problem);
const late = await client.run("gated", { gate }, { timeout: 100, id: "too-late" }).catch((error) => error);
const none = [await client.run("nothing", 1), await client.result(await client.submit("nothing", 2)),
  await client.run("page", { body: "", type: "text/plain", status: 205 })];
const empty = await client.run("page", { body: "", type: "text/html" });
const blob = await client.run("blob", "image/png");
const raw = [await client.run("nothing", 3, { as: "response" }), await client.run("blob", "", { as: "response" })];
const away = [await client.run("elsewhere", location.origin), await client.result(await client.submit("elsewhere", "/"))];
const path = "/v1/requests/" + accepted.id;
const known = [];
for (const at of [path, path + "/status"]) {
  const { headers } = await client.request(at);
  known.push((await client.request(at, { headers: { "If-None-Match": headers.get("ETag") } })).status);
}
const portal = new PaihaoClient({ url: location.origin, attempts: 1 });
const strange = [];
for (const ask of [() => portal.run("greet", {}), () => portal.result("a"), () => portal.status("a"), () => portal.queues()])
  strange.push(await ask().then(() => "a result", ({ kind, message }) => [kind, /no usable answer/.test(message)]));
return {
  away: away.map((response) => response.type),
  none: none.map((value) => value === undefined), empty: [empty.status, await empty.text()],
  blob: [blob.headers.get("content-type"), await blob.text()], raw: raw.map(({ status }) => status), known, strange,
  count, seen, heard, greeting, linked: linked.greeting, replayed: again.replayed, verdicts,
  bytes: [...bytes], page: [page instanceof Response, page.headers.get("x-made-by"), await page.text()],
  refused: [refused.code, refused.problem.errors[0].pointer], failed: [failed instanceof TaskFailed, failed.problem.reason],
  nobody: nobody.kind, late: late.name,
};`;

describe("the client in a browser", () => {
  const keys = testKeys({ page: ["submit"] });
  const key = keys.as("page").Authorization?.replace("Bearer ", "") ?? "";
  let site: http.Server;
  let server: TestServer;
  let browser: ChildProcess | undefined;
  const profile = mkdtempSync(path.join(tmpdir(), "paihao-browser-"));
  const reported = deferred<string>();
  before(async function () {
    if (!CHROMIUM) return this.skip();
    const { outputFiles } = await build({
      entryPoints: [path.join(ROOT, "src/client/index.ts")],
      bundle: true,
      minify: true,
      format: "esm",
      write: false,
    });
    site = http.createServer(async (req, res) => {
      if (req.url === "/report") {
        reported.resolve(Buffer.concat(await req.toArray()).toString());
        res.end();
      } else if (req.url === "/client.js") {
        res.writeHead(200, { "Content-Type": "text/javascript" }).end(outputFiles[0]?.contents);
      } else {
        // Like the portal of a network, it answers every request with its page.
        const given = `const url = ${JSON.stringify(server.url)}, key = ${JSON.stringify(key)}, gate = "${closedGate().name}";`;
        const [imports = "", ...work] = SCRIPT.trim().split("\n");
        const run = `const work = async () => {${work.join("\n")}};
          const told = await work().catch((error) => ({ error: String(error?.stack ?? error) }));
          await fetch("/report", { method: "POST", body: JSON.stringify(told) });`;
        res.writeHead(200, { "Content-Type": "text/html" });
        res.end(`<!doctype html><script type="module">${imports}\n${given}\n${run}</script>`);
      }
    });
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    server = await startServer({
      ...keys.env,
      HANDLERS: path.join(import.meta.dirname, "../fixtures/handlers/client"),
      CORS_ORIGINS: origin,
      URL_SIGNING_KEY: "a secret of at least 16 characters",
    });
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", `--user-data-dir=${profile}`];
    browser = spawn(CHROMIUM, [...flags, origin], { stdio: "ignore" });
  });
  after(async () => {
    if (browser && browser.exitCode === null) {
      browser.kill();
      await once(browser, "exit");
    }
    site?.closeAllConnections();
    site?.close();
    await server?.stop();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });

  it("does in a page of another origin what it does in Node", async function () {
    this.timeout(60_000);
    const told = JSON.parse(await reported.promise);
    expect(told).to.deep.equal({
      none: [true, true, true],
      empty: [200, ""],
      blob: ["image/png", "an image"],
      raw: [204, 200],
      away: ["opaqueredirect", "opaqueredirect"],
      known: [304, 304],
      strange: Array.from({ length: 4 }, () => ["unreachable", true]),
      count: 2,
      seen: told.seen,
      heard: ["one", "two"],
      greeting: "Hello, Ada",
      linked: "Hello, Ada",
      replayed: true,
      verdicts: [true, false],
      bytes: [255, 2, 1],
      page: [true, "page", "<p>"],
      refused: ["invalid-input", "#/name"],
      failed: [true, "test"],
      nobody: "unauthorized",
      late: "TimeoutError",
    });
    expect(told.seen.at(-1)).to.equal("succeeded");
    await eventually(async () => {
      const { json } = await server.send("/v1/requests/too-late/status", { headers: keys.as("page") });
      return json.state === "canceled";
    });
  });
});
