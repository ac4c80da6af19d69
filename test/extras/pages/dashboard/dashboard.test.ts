import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect } from "chai";
import { filesIn } from "../../../../scripts/files.ts";
import { builtCommand } from "../../../helpers/build.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { ROOT } from "../../../shared/root.ts";

const KEY = "ph_test-of-the-dashboard";
const hash = (key: string) => createHash("sha256").update(key).digest("hex");
const basic = (key: string) => `Basic ${Buffer.from(`me:${key}`).toString("base64")}`;

const SHOP = "ph_test-of-a-shop";

describe("the dashboard", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ API_KEYS: `boss:admin:${hash(KEY)},shop:submit:${hash(SHOP)}` });
  });
  after(() => server.stop());

  const page = (authorization?: string, path = "/dashboard", headers = {}) =>
    server.send(path, { headers: { ...headers, ...(authorization ? { Authorization: authorization } : {}) } });

  it("needs a key with the scope read or admin", async () => {
    const statusOf = async (authorization?: string) => (await page(authorization)).status;
    expect(await statusOf()).to.equal(401);
    expect(await statusOf("Bearer wrong")).to.equal(401);
    expect(await statusOf(`Bearer ${SHOP}`)).to.equal(403);
    for (const shown of [basic(KEY), `Bearer ${KEY}`]) expect(await statusOf(shown)).to.equal(200);
    const refused = await page();
    expect(refused.json.type).to.equal("/problems/unauthenticated");
    expect(refused.headers["www-authenticate"]).to.match(/^Bearer/);
  });

  it("is the same page with a refusal, so that a person can enter a key there", async () => {
    const shown = await page(`Bearer ${KEY}`);
    const refused = await page(undefined, "/dashboard", { Accept: "text/html" });
    expect(refused.status).to.equal(401);
    expect(refused.text).to.equal(shown.text);
  });

  it("is the same page at every address, under a strict policy (CSP Level 3)", async () => {
    for (const path of ["/dashboard", "/dashboard/", "/dashboard/queues/default/dead", "/dashboard/tasks/a%3Ab"]) {
      const answer = await page(`Bearer ${KEY}`, path);
      expect(answer.status, path).to.equal(200);
      const policy = String(answer.headers["content-security-policy"]).split("; ");
      for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:"]) {
        expect(policy).to.include(rule);
      }
      expect(policy).to.include("frame-ancestors 'none'");
      expect(answer.text).to.not.match(/<script>|style=|onclick=|unsafe/);
    }
  });

  it("shows nothing of the server without a key", async () => {
    for (const path of ["/v1/access", "/v1/queues", "/v1/history", "/v1/queues/default/waiting"]) {
      expect((await page(undefined, path)).status, path).to.equal(401);
    }
  });

  it("lets no browser ask for a password by itself, and takes the one that is part of an address", async () => {
    for (const headers of [{ "X-Requested-With": "paihao-dashboard" }, { Accept: "text/html" }])
      expect((await page(undefined, "/v1/queues", headers)).headers["www-authenticate"]).to.match(/^Bearer/);
    expect((await page(basic(KEY), "/v1/queues")).json.items.map((q: { name: string }) => q.name)).to.include.members([
      "default",
      "paihao.webhooks",
      "paihao.undo",
    ]);
  });

  it("loads a script and a style from this server, which browsers keep for good, compressed as they accept", async () => {
    const { text } = await page(`Bearer ${KEY}`);
    const files = [...text.matchAll(/(?:src|href)="(\/pages\/[^"]+)"/g)].map((match) => match[1] ?? "");
    expect(files).to.have.length(2);
    for (const path of files) {
      const plain = await page(undefined, path);
      expect(plain.status, path).to.equal(200);
      expect(plain.headers["content-type"], path).to.match(/^text\/(css|javascript); charset=utf-8$/);
      expect(plain.headers["cache-control"]).to.equal("public, max-age=31536000, immutable");
      const tags = new Set([plain.headers.etag]);
      for (const [accepted, coding] of [
        ["gzip, deflate, br, zstd", "br"],
        ["gzip, br;q=0", "gzip"],
      ] as const) {
        const response = await fetch(new URL(path, server.url), { headers: { "Accept-Encoding": accepted } });
        const { headers } = response;
        expect([headers.get("content-encoding"), headers.get("vary")]).to.deep.equal([coding, "Accept-Encoding"]);
        expect(await response.text()).to.equal(plain.text);
        tags.add(String(headers.get("etag")));
      }
      expect(tags.size, "each form has its own ETag").to.equal(3);
      const other = path.replace(/-\w+/, "-ABCDEFGH");
      for (const missing of [other, path.replace(/-\w+/, "")]) {
        expect((await page(undefined, missing)).status, missing).to.equal(404);
      }
    }
  });

  it("has the same files in the build, and no other is served", async () => {
    builtCommand();
    const folder = join(ROOT, "dist/extras/pages");
    const { addressOf, assetAt }: typeof import("../../../../src/extras/pages/assets.ts") = await import(
      join(folder, "assets.js")
    );
    const { text } = await page(`Bearer ${KEY}`);
    expect(text).to.contain(addressOf("dashboard.js")).and.contain(addressOf("dashboard.css"));
    expect(filesIn(folder).filter((name) => assetAt(name) !== undefined)).to.deep.equal([]);
  });

  it("accepts no submissions to the server's own queues", async () => {
    const answer = await server.send("/v1/queues/paihao.webhooks/requests", {
      method: "POST",
      body: {},
      headers: { Authorization: `Bearer ${KEY}` },
    });
    expect(answer.status).to.equal(404);
    expect(answer.json.type).to.equal("/problems/unknown-queue");
  });
});
