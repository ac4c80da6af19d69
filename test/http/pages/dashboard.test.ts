import { createHash } from "node:crypto";
import { expect } from "chai";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const KEY = "ph_test-of-the-dashboard";
const hash = createHash("sha256").update(KEY).digest("hex");
const basic = (key: string) => `Basic ${Buffer.from(`me:${key}`).toString("base64")}`;

describe("the dashboard", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ API_KEYS: `boss:admin:${hash}` });
  });
  after(() => server.stop());

  const page = (authorization?: string, path = "/dashboard", headers = {}) =>
    server.send(path, { headers: { ...headers, ...(authorization ? { Authorization: authorization } : {}) } });

  it("is the same page for everyone, at every address, under a strict policy (CSP Level 3)", async () => {
    for (const path of ["/dashboard", "/dashboard/", "/dashboard/queues/default/dead", "/dashboard/tasks/a%3Ab"]) {
      const answer = await page(undefined, path);
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
    const files = [...(await page()).text.matchAll(/(?:src|href)="(\/pages\/[^"]+)"/g)].map((match) => match[1] ?? "");
    for (const path of files) {
      const asset = await page(undefined, path);
      expect(asset.status, path).to.equal(200);
      expect(asset.headers["content-type"], path).to.match(/^(text\/(css|javascript); charset=utf-8|image\/svg\+xml)$/);
      for (const [, name] of asset.text.matchAll(/^import .* from "\.\/([^"]+)";$/gm)) {
        if (!files.includes(`/pages/dashboard/${name}`)) files.push(`/pages/dashboard/${name}`);
      }
    }
    expect(files.length).to.be.above(30);
    for (const path of ["/pages/dashboard/dashboard.html", "/pages/dashboard/..%2Frender.ts", "/pages/render.ts"]) {
      expect((await page(undefined, path)).status, path).to.equal(404);
    }
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
