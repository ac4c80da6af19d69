import { expect } from "chai";
import { closedGate } from "../../../helpers/gates.ts";
import { testKeys } from "../../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";

const FRAME = { Accept: "text/html,*/*;q=0.8", "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site" };

describe("the page of a task for a frame", () => {
  const keys = testKeys({ shop: ["submit"] });
  let server: TestServer;
  before(async () => {
    server = await startServer({
      ...keys.env,
      URL_SIGNING_KEY: "a secret of at least 16 characters",
      EMBED_ORIGINS: "https://shop.example,https://admin.example",
    });
  });
  after(() => server.stop());

  /** Submits as the shop; returns the signed link to the monitor. */
  const submit = async (queue: string, input: unknown, search = "") => {
    const headers = keys.as("shop", { Prefer: "respond-async" });
    const path = `/v1/queues/${queue}/requests${search}`;
    const { json } = await server.send(path, { method: "POST", headers, body: input });
    const link = json.links.find(({ rel }: { rel: string }) => rel === "monitor");
    return { id: String(json.id), link: String(link.href) };
  };
  const show = (link: string, search = "&embed=true") => server.send(link + search, { headers: FRAME });
  const policyOf = (answer: Awaited<ReturnType<typeof show>>) => String(answer.headers["content-security-policy"]);

  it("has the place in line, and reloads itself without a script", async () => {
    const gate = closedGate();
    await submit("gated", gate.input);
    await gate.entered;
    await submit("gated", gate.input);
    const { link } = await submit("gated", gate.input);
    const embedded = await show(link);
    expect(embedded.status).to.equal(202);
    expect(embedded.text)
      .to.match(/class="number short">2</)
      .and.contain("1 before this one");
    expect(embedded.text).to.not.match(/<script|<button|<form|\son\w+=|style=/);
    const refresh = Number(/http-equiv="refresh" content="(\d+)"/.exec(embedded.text)?.[1]);
    expect(refresh).to.be.within(1, Math.min(15, Number(embedded.headers["retry-after"])));
    gate.open("done");
  });

  it("has a link that opens the result outside the frame, and no longer reloads, when the task has ended", async () => {
    const { id, link } = await submit("default", 1);
    await server.send(`/v1/requests/${id}/status?onPending=synchronous`, { headers: keys.as("shop") });
    const { status, text } = await show(link);
    expect(status).to.equal(200);
    expect(text).to.contain("Done").and.not.contain('http-equiv="refresh"');
    const [, href = ""] = /<a href="([^"]+)" target="_blank" rel="noopener noreferrer">/.exec(text) ?? [];
    expect((await server.send(href.replaceAll("&amp;", "&"))).json.input).to.equal(1);
  });

  it("may be framed by the pages of EMBED_ORIGINS and no others, and no other page at all (CSP Level 3)", async () => {
    const { link } = await submit("default", 1, "?delay=3600");
    expect(policyOf(await show(link)).split("; ")).to.include(
      "frame-ancestors https://shop.example https://admin.example",
    );
    for (const search of ["", "&embed=false"]) {
      expect(policyOf(await show(link, search))).to.contain("frame-ancestors 'none'");
    }
    const missing = await server.send("/v1/requests/nobody/status?embed=true", {
      headers: { ...keys.as("shop"), ...FRAME },
    });
    expect(missing.status).to.equal(404);
    expect(policyOf(missing)).to.contain("frame-ancestors https://shop.example");
    const open = await startServer();
    try {
      const id = await open.enqueue("default", 1, "?delay=3600");
      const own = await open.send(`/v1/requests/${id}/status?embed=TRUE`, { headers: FRAME });
      expect(policyOf(own)).to.contain("frame-ancestors 'none'");
    } finally {
      await open.stop();
    }
  });

  it("is also shown for an expired or forged link: a sentence, without asking for a password", async () => {
    const { link } = await submit("default", 1, "?delay=3600");
    for (const search of ["&embed=true", ""]) {
      for (const broken of [
        link.replace(/expires=\d+/, "expires=1"),
        link.replace(/.$/, ""),
        link.replace(/signature=/, "$&x"),
      ]) {
        const shown = await show(broken, search);
        expect(shown.status).to.equal(401);
        expect(shown.text).to.contain("<h1>This link has expired, or is not complete</h1>").and.not.contain("key");
        expect(String(shown.headers["www-authenticate"])).to.not.contain("Basic");
        expect(policyOf(shown)).to.contain(
          search === "" ? "frame-ancestors 'none'" : "frame-ancestors https://shop.example",
        );
      }
    }
    const without = await server.send(link.replace(/\?.*/, ""), { headers: FRAME });
    expect([without.status, without.text.includes("This page opens with its complete link")]).to.deep.equal([
      401,
      true,
    ]);
  });

  it("is requested by true; any other value is refused", async () => {
    const { link } = await submit("default", 1, "?delay=3600");
    const refused = await show(link, "&embed=1");
    expect(refused.status).to.equal(400);
    const json = await server.send(`${link}&embed=true`, { headers: { Accept: "application/json" } });
    expect(json.json.state).to.equal("scheduled");
  });
});
