import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const keys = testKeys({ shop: ["submit"], other: ["submit"], boss: ["admin"] });

describe("submitting the input of a task again", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer(keys.env);
  });
  after(() => server.stop());

  const shop = (headers = {}) => keys.as("shop", headers);
  const POST = { method: "POST" };
  const ASYNC = { Prefer: "respond-async" };
  async function submitted(queue: string, body: unknown, { search = "", headers = {} } = {}): Promise<string> {
    const sent = { method: "POST", headers: shop({ ...ASYNC, ...headers }), body };
    const answer = await server.send(`/v1/queues/${queue}/requests${search}`, sent);
    expect(answer.status, answer.text).to.equal(202);
    return String(answer.headers["x-request-id"]);
  }
  const again = (
    id: string,
    { headers = shop(), body, search = "" }: { headers?: object; body?: unknown; search?: string } = {},
  ) => server.send(`/v1/requests/${id}/again${search}`, { method: "POST", headers: { ...headers }, body });
  const status = async (id: string) => (await server.send(`/v1/requests/${id}/status`, { headers: shop() })).json;

  it("runs it as a new task, and each names the other", async () => {
    const id = await submitted("default", { n: 1 }, { search: "?size=5" });
    await server.until(id, "succeeded", shop());
    const answer = await again(id);
    const made = String(answer.headers["x-request-id"]);
    expect(made).not.to.equal(id);
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.json).to.deep.equal({ input: { n: 1 }, query: { size: "5" }, attempt: 1, id: made });
    expect(answer.headers.link).to.equal(`</v1/requests/${id}>; rel="original"`);
    expect(await status(made)).to.include({ original: id, again: null });
    expect(await status(id)).to.include({ original: null, again: made });
    const third = await again(made, { headers: shop(ASYNC), search: "?size=6" });
    expect(third.status).to.equal(202);
    expect(third.headers.link).to.include('rel="monitor"').and.to.include(`</v1/requests/${made}>; rel="original"`);
    const last = String(third.headers["x-request-id"]);
    await server.until(last, "succeeded", shop());
    expect((await server.send(`/v1/requests/${last}`, { headers: shop() })).json.query).to.deep.equal({ size: "6" });
  });

  it("takes an edited input, which is checked as that of any submission, and the options of this request", async () => {
    const id = await submitted("gated", { gate: "none" }, { search: "?delay=3600" });
    const edited = await again(id, { body: { gate: "another" }, headers: shop(ASYNC), search: "?delay=60" });
    expect([edited.status, edited.json.state, edited.json.queue]).to.deep.equal([202, "scheduled", "gated"]);
    const made = String(edited.headers["x-request-id"]);
    const input = await server.send(`/v1/requests/${made}/input`, { headers: shop() });
    expect(input.text).to.equal('{"gate":"another"}');
    const checked = await submitted("checked", { width: 3, url: "https://a.example" });
    const bad = await again(checked, { body: { width: "wide" }, headers: shop(ASYNC) });
    expect([bad.status, bad.json.type]).to.deep.equal([400, "/problems/invalid-input"]);
    expect((await again(id, { body: "{", headers: shop({ "Content-Type": "application/json" }) })).status).to.equal(
      400,
    );
    expect((await again(id, { search: "?dryRun=true" })).json).to.include({ queue: "gated" });
    expect((await status(id)).again, "only what was stored counts").to.equal(made);
  });

  /** Of each form in which inputs are stored. */
  const LENGTHS = [5, 150, 1000];

  it("takes the input of a task that has ended in any way, whatever its length", async () => {
    for (const length of LENGTHS) {
      const input = ["x".repeat(length)];
      const done = await submitted("default", input);
      await server.until(done, "succeeded", shop());
      const refused = await submitted("confidential", ["no", ...input]);
      await server.until(refused, "failed", shop());
      const canceled = await submitted("default", input, { search: "?delay=3600" });
      await server.send(`/v1/requests/${canceled}`, { method: "DELETE", headers: shop() });
      for (const id of [done, refused, canceled]) {
        const { actions, links } = await status(id);
        expect(actions, `${length}`).to.include("again");
        const { href, method } = links.find(({ rel }: { rel: string }) => rel === "again");
        const made = await server.send(`${href}?delay=3600`, { method, headers: shop(ASYNC) });
        expect(made.status, made.text).to.equal(202);
        const copy = await server.send(`/v1/requests/${made.headers["x-request-id"]}/input`, { headers: shop() });
        expect(copy.json).to.deep.equal(id === refused ? ["no", ...input] : input);
      }
    }
  });

  it("is not offered when the input is gone, answers 410 that says so, and takes one that is sent", async () => {
    const ended: string[] = [];
    for (const queue of ["confidential", "brief"]) {
      for (const length of LENGTHS) {
        const id = await submitted(queue, ["x".repeat(length)]);
        await server.until(id, "succeeded", shop());
        if (queue === "brief") await eventually(async () => expect((await status(id)).links).to.have.length(1));
        ended.push(id);
      }
    }
    for (const id of ended) {
      const { actions, links } = await status(id);
      expect([...actions, ...links.map(({ rel }: { rel: string }) => rel)]).not.to.include("again");
      const gone = await again(id);
      expect([gone.status, gone.json.type, gone.json.id]).to.deep.equal([410, "/problems/expired", id]);
      expect(`${gone.json.title} ${gone.json.detail}`).to.include("input").and.not.to.include("result");
      expect((await server.send(`/v1/requests/${id}/input`, { headers: shop() })).status).to.equal(410);
      expect((await again(id, { body: ["y"], headers: shop(ASYNC) })).status).to.equal(202);
    }
    const [id = ""] = ended;
    const same = { "X-Request-Id": id };
    const replay = await server.send("/v1/queues/confidential/requests", {
      ...POST,
      headers: shop(same),
      body: ["xxxxx"],
    });
    expect([replay.status, replay.headers["idempotent-replayed"]]).to.deep.equal([200, "true"]);
    const other = await server.send("/v1/queues/confidential/requests", { ...POST, headers: shop(same), body: ["y"] });
    expect(other.json.type).to.equal("/problems/id-conflict");
  });

  it("gives bytes back as they were", async () => {
    const bytes = Buffer.from([0, 255, 1, 128]);
    const id = await submitted("images", bytes, { headers: { "Content-Type": "image/png" }, search: "?delay=3600" });
    const made = await again(id, { headers: shop(ASYNC), search: "?delay=3600" });
    const input = await server.send(`/v1/requests/${made.headers["x-request-id"]}/input`, { headers: shop() });
    expect([input.headers["content-type"], input.body.equals(bytes)]).to.deep.equal(["image/png", true]);
  });

  it("under an id or Idempotency-Key makes one task, however often it is sent", async () => {
    const id = await submitted("default", 7);
    for (const headers of [{ "X-Request-Id": `${id}-again` }, { "Idempotency-Key": "once" }]) {
      const answers = [];
      for (let n = 0; n < 2; n += 1) answers.push(await again(id, { headers: shop({ ...headers, ...ASYNC }) }));
      const [first, second] = answers.map((answer) => answer.headers);
      expect(second?.["x-request-id"]).to.equal(first?.["x-request-id"]);
      expect(second?.["idempotent-replayed"]).to.equal("true");
    }
    const same = await again(id, { headers: shop({ "X-Request-Id": id }) });
    expect([same.status, same.json.type]).to.deep.equal([409, "/problems/id-conflict"]);
  });

  it("is for its caller and operators: for others the task is unknown", async () => {
    const id = await submitted("default", 1);
    const unknown = await again(id, { headers: keys.as("other") });
    expect([unknown.status, unknown.json.type]).to.deep.equal([404, "/problems/unknown"]);
    const made = String((await again(id, { headers: keys.as("boss") })).headers["x-request-id"]);
    const seen = await server.send(`/v1/requests/${made}/status`, { headers: keys.as("boss") });
    expect(seen.json.original).to.equal(id);
    expect((await server.send(`/v1/requests/${made}/status`, { headers: shop() })).status, "another's").to.equal(404);
    expect((await again("nobody")).status).to.equal(404);
  });

  it("streams its events to who prefers them", async () => {
    const id = await submitted("default", 1);
    const stream = await again(id, { headers: shop({ Accept: "text/event-stream" }) });
    expect(stream.headers["content-type"]).to.include("text/event-stream");
    expect(stream.text).to.include("event: done");
  });
});
