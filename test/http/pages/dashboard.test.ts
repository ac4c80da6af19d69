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

  it("requires a key with the scope admin, and makes a browser ask for one (RFC 7617)", async () => {
    const refused = await page();
    expect(refused.status).to.equal(401);
    expect(refused.headers["www-authenticate"]).to.match(/^Basic realm="paihao"/);
    expect((await page(basic("wrong"))).status).to.equal(401);
    for (const shown of [basic(KEY), `Bearer ${KEY}`]) {
      const answer = await page(shown);
      expect(answer.status).to.equal(200);
      expect(answer.headers["content-security-policy"]).to.match(/default-src 'none'/);
      expect(answer.text).to.not.match(/<script>|style=|onclick=/);
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

  it("serves its style and script as separate files", async () => {
    for (const [name, type] of [
      ["dashboard.css", "text/css"],
      ["dashboard.js", "text/javascript"],
    ]) {
      const asset = await page(basic(KEY), `/pages/${name}`);
      expect(asset.status).to.equal(200);
      expect(asset.headers["content-type"]).to.contain(type);
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
