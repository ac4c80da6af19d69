import { expect } from "chai";
import { closedGate } from "../../../helpers/gates.ts";
import { startServer, type TestServer } from "../../../helpers/http/server.ts";
import { eventually } from "../../../shared/eventually.ts";

const BROWSER = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

describe("the page of a task", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  const page = (id: string, search = "") => server.send(`/v1/requests/${id}/status${search}`, { headers: BROWSER });

  it("loads only its own style and script, under a strict policy (CSP Level 3)", async () => {
    const html = await page(await server.enqueue("default", 1, "?delay=3600"));
    const policy = String(html.headers["content-security-policy"]);
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]) {
      expect(policy.split("; ")).to.include(rule);
    }
    expect(policy).to.contain("frame-ancestors 'none'").and.not.contain("unsafe");
    expect(html.headers).to.include({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
    expect(html.text).to.not.match(/<script>|<script [^>]*>[^<]|style=|\son\w+=|https?:/);
    const loaded = [...html.text.matchAll(/(?:src|href)="(\/pages\/[^"]+)"/g)].map((match) => match[1] ?? "");
    expect(loaded).to.have.length(2);
    for (const path of loaded) {
      const asset = await server.send(path);
      expect(asset.status, path).to.equal(200);
      expect(asset.headers["content-type"]).to.match(/^text\/(css|javascript)/);
      expect(asset.headers["x-content-type-options"]).to.equal("nosniff");
      const again = await server.send(path, { headers: { "If-None-Match": String(asset.headers.etag) } });
      expect(again.status).to.equal(304);
    }
  });

  it("shows place, progress and outcome even without its script", async () => {
    const gate = closedGate();
    const running = await server.enqueue("gated", gate.input);
    const task = await gate.entered;
    await server.enqueue("gated", gate.input);
    const waiting = await server.enqueue("gated", gate.input);
    const line = (await page(waiting)).text;
    expect(line)
      .to.contain("Place in line")
      .and.to.match(/id="number"[^>]*>2</)
      .and.to.contain("1 before this one")
      .and.to.match(/<noscript><meta http-equiv="refresh" content="\d+"><\/noscript>/);
    expect(line).to.contain(`data-events="/v1/requests/${waiting}/events"`);
    task.progress(40, "halfway");
    await server.until(running, "running");
    gate.open("done");
    const done = await server.until(waiting, "succeeded");
    expect(done.json.state).to.equal("succeeded");
    const finished = await page(waiting);
    expect(finished.status).to.equal(200);
    expect(finished.text).to.not.contain('http-equiv="refresh"');
    expect(finished.text).to.contain("Done").and.to.contain(`href="/v1/requests/${waiting}?raw=true"`);
    const failed = String(
      (await server.post("giving-up", { title: "No", detail: "Too blue" })).headers["x-request-id"],
    );
    expect((await page(failed)).text)
      .to.contain("Failed")
      .and.to.contain("Too blue");
  });

  it("shows the deadline of a task that has one, until it has ended", async () => {
    const shown = /<dt>Deadline<\/dt>/;
    const dated = await server.enqueue("default", 1, "?delay=3600&deadline=7200");
    const { deadlineAt } = (await server.send(`/v1/requests/${dated}/status`)).json;
    const { text } = await page(dated);
    expect(text).to.contain(`datetime="${deadlineAt}"`);
    expect(text).to.match(shown);
    await server.send(`/v1/requests/${dated}`, { method: "DELETE" });
    expect((await page(dated)).text).to.not.match(shown);
    const undated = await server.enqueue("default", 1, "?delay=3600");
    expect((await page(undated)).text).to.not.match(shown);
  });

  it("says when to look at a pending task again, and when it is tried again, without counting attempts", async () => {
    const later = await page(await server.enqueue("default", 1, "?delay=3600"));
    expect(Number(later.headers["retry-after"])).to.be.within(1, 300);
    expect(later.text).to.contain("Starts in about 1 h");
    const gate = closedGate();
    gate.break(new Error("no"));
    const again = await server.enqueue("gated-too", gate.input);
    await server.until(again, "retrying");
    expect((await page(again)).text)
      .to.contain("Waiting to try again")
      .and.match(/Tries again in/)
      .and.not.match(/>[^<]*attempt/i);
  });

  it("says what a visitor may do about a failure: what the queue says, else that somebody can look it up", async () => {
    const failed = async (queue: string, input: unknown) =>
      (await page(String((await server.post(queue, input)).headers["x-request-id"]))).text;
    expect(await failed("supported", {}))
      .to.contain("Something went wrong on our side.")
      .and.contain("Write to &lt;help@example.org&gt;.")
      .and.not.match(/>[^<]*attempt/i);
    expect(await failed("giving-up", { title: "No" })).to.contain("Tell whoever runs this service");
  });

  it("is also what a browser gets where there is nothing; others get a problem", async () => {
    for (const [path, status] of [
      ["/nowhere", 404],
      ["/v1/nowhere", 404],
      ["/v1/requests", 405],
    ] as const) {
      const shown = await server.send(path, { headers: BROWSER });
      expect([shown.status, shown.headers["content-type"]], path).to.deep.equal([status, "text/html; charset=utf-8"]);
      expect(String(shown.headers.vary)).to.match(/\bAccept\b/);
      expect((await server.send(path)).headers["content-type"], path).to.match(/^application\/problem/);
    }
    expect((await server.send("/nowhere", { headers: BROWSER })).text).to.contain('href="/"');
  });

  it("escapes text of callers and handlers", async () => {
    const detail = "\"><script>alert('1')</script>&{{title}}";
    const id = String((await server.post("giving-up", { title: "No", detail })).headers["x-request-id"]);
    const { text } = await page(id);
    expect(text).to.not.contain("<script>alert");
    expect(text).to.contain("&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;{{title}}");
  });

  it("is a page with its status even if the task is unknown or deleted", async () => {
    const id = (await server.post("default", 1)).json.id;
    await server.send(`/v1/requests/${id}`, { method: "DELETE" });
    for (const [task, status] of [
      ["nobody", 404],
      ["%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404],
      [id, 410],
    ] as const) {
      const answer = await page(task);
      expect(answer.status).to.equal(status);
      expect(answer.headers["content-type"]).to.match(/^text\/html/);
      expect(answer.headers["content-security-policy"]).to.contain("default-src 'none'");
      expect(answer.text).to.contain("<h1>").and.not.contain("<script>alert");
    }
  });

  it("says that a result has expired, and does not link to it", async () => {
    const id = await server.enqueue("brief", {});
    await server.until(id, "succeeded");
    await eventually(async () => (await server.send(`/v1/requests/${id}`)).status === 410);
    for (const search of ["", "?embed=true"]) {
      const { text } = await page(id, search);
      expect(text).to.contain(">Expired</h1>").and.to.contain('data-state="expired"');
      expect(text).to.not.contain("Open the result");
    }
  });

  it("names the task that is unknown", async () => {
    expect((await page("order-42")).text).to.contain(">order-42</p>");
  });
});
