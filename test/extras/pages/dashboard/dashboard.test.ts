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

  it("makes the browser send the key with the requests of its script, and asks no API client for a password", async () => {
    const ofScript = await page(undefined, "/v1/queues", { "X-Requested-With": "paihao-dashboard" });
    expect(ofScript.headers["www-authenticate"]).to.match(/^Basic/);
    expect((await page(undefined, "/v1/queues")).headers["www-authenticate"]).to.match(/^Bearer/);
    expect((await page(basic(KEY), "/v1/queues")).json.items.map((q: { name: string }) => q.name)).to.include.members([
      "default",
      "paihao.webhooks",
      "paihao.undo",
    ]);
  });

  it("loads its files from this server, and each is there", async () => {
    const files = [...(await page(`Bearer ${KEY}`)).text.matchAll(/(?:src|href)="(\/pages\/[^"]+)"/g)].map(
      (match) => match[1] ?? "",
    );
    for (const path of files) {
      const asset = await page(undefined, path);
      expect(asset.status, path).to.equal(200);
      expect(asset.headers["content-type"], path).to.match(/^(text\/(css|javascript); charset=utf-8|image\/svg\+xml)$/);
      for (const [, name = ""] of asset.text.matchAll(/^import .* from "([^"]+)";$/gm)) {
        const { pathname } = new URL(name, `http://server${path}`);
        if (!files.includes(pathname)) files.push(pathname);
      }
    }
    expect(files.length).to.be.above(30);
    for (const path of ["/pages/dashboard/dashboard.html", "/pages/dashboard/..%2Frender.ts", "/pages/render.ts"]) {
      expect((await page(undefined, path)).status, path).to.equal(404);
    }
  });

  it("serves no module or template of the server from the build", async () => {
    builtCommand();
    const folder = join(ROOT, "dist/extras/pages");
    const { assetOf }: typeof import("../../../../src/extras/pages/assets.ts") = await import(
      join(folder, "assets.js")
    );
    const files = filesIn(folder);
    const others = files.filter((name) => !name.startsWith("browser/"));
    expect(others).to.include.members(["render.js"]);
    expect(others.filter((name) => assetOf("pages", name) !== undefined)).to.deep.equal([]);
    expect(assetOf("pages", "dashboard/dashboard.js")).to.not.equal(undefined);
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
