import path from "node:path";
import { expect } from "chai";
import { Webhook } from "standardwebhooks";
import { closedGate } from "../../helpers/gates.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { type ServerProcess, startProcess } from "../../helpers/server-process.ts";
import { endLeases } from "../../helpers/store/end-leases.ts";
import { eventually } from "../../shared/eventually.ts";
import { ROOT } from "../../shared/root.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const SECRETS = [7, 8].map((n) => `whsec_${Buffer.alloc(32, n).toString("base64")}`);
const ENV = { WEBHOOK_ALLOW: "127.0.0.1", WEBHOOK_SECRET: SECRETS.join() };

describe("webhooks of a server", () => {
  let server: TestServer;
  let receiver: Receiver;
  before(async () => {
    server = await startServer(ENV);
  });
  after(() => server.stop());
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const asked = (url = receiver.url) => `?webhook=${encodeURIComponent(url)}`;

  it("report the end of a task, signed with each secret, with its result", async () => {
    const id = await server.enqueue("default", { n: 1 }, asked());
    const [event] = await receiver.count(1);
    for (const secret of SECRETS) {
      const verified = new Webhook(secret).verify(event?.body ?? "", event?.headers as Record<string, string>);
      expect(verified).to.have.property("type", "task.succeeded");
    }
    expect(event?.headers).to.include({ "content-type": "application/json", "user-agent": "Paihao-Webhooks/1.0" });
    expect(event?.json.data.result).to.include({ id }).and.have.deep.property("input", { n: 1 });
    const { headers, json } = await server.send(`/v1/requests/${id}/status`);
    const { running, waiting, links, ...lasting } = json;
    // It is for nobody in particular: whoever wants to act asks with a key.
    expect(event?.json.data).to.deep.include({ ...lasting, actions: [], links: links.slice(0, -1) });
    expect(headers["content-type"]).to.match(/^application\/json/);
  });

  it("can be requested by PUT and by synchronous requests too, and are not passed to the handler", async () => {
    const put = await server.send(`/v1/requests/by-put${asked()}`, { method: "PUT", body: 1 });
    expect(put.status).to.equal(200);
    expect(put.json.query).to.deep.equal({});
    const [event] = await receiver.count(1);
    expect(event?.json.data.id).to.equal("by-put");
  });

  it("leave out a large result, and link to it", async () => {
    const id = await server.enqueue("default", { text: "x".repeat(20_000) }, asked());
    const [event] = await receiver.count(1);
    expect(event?.json.data).to.include({ id, state: "succeeded" }).and.not.have.property("result");
    expect(event?.json.data.links).to.deep.include({ rel: "result", href: `/v1/requests/${id}`, method: "GET" });
  });

  it("report a task that was canceled while running, once its handler has settled", async () => {
    const gate = closedGate();
    const id = await server.enqueue("gated", gate.input, asked());
    await gate.entered;
    await server.send(`/v1/requests/${id}`, { method: "DELETE" });
    const [event] = await receiver.count(1);
    expect(event?.json).to.have.property("type", "task.canceled");
    expect(event?.json.data).to.deep.include({ id, state: "canceled" });
    expect(event?.json.data.error).to.include({ code: "canceled" });
  });

  it("are refused at submission if the target is not allowed, and nothing is stored", async () => {
    const refused = [
      "https://10.0.0.1/",
      "https://127.0.0.2/",
      "http://93.184.215.14/",
      "https://user:secret@127.0.0.1/",
      "ftp://127.0.0.1/",
      "",
      `http://127.0.0.1/${"x".repeat(2048)}`,
    ];
    for (const [i, url] of refused.entries()) {
      const answer = await server.send(`/v1/requests${asked(url)}`, {
        method: "POST",
        headers: { "X-Request-Id": `refused-${i}`, Prefer: "respond-async" },
        body: 1,
      });
      expect(answer.status, url).to.equal(400);
      expect(answer.json).to.include({ type: "/problems/invalid-parameter", parameter: "webhook" });
      expect(answer.json.detail).to.match(/^webhook: /);
      expect((await server.send(`/v1/requests/refused-${i}`)).json.type).to.equal("/problems/unknown");
    }
    const twice = await server.send(`/v1/requests${asked()}&webhook=x`, { method: "POST", body: 1 });
    expect(twice.json).to.include({ type: "/problems/invalid-parameter", parameter: "webhook" });
  });

  it("report each task of a batch, or are refused before any of its lines is read", async () => {
    const send = (url: string, id: string) =>
      server.send(`/v1/queues/default/batches${asked(url)}`, {
        method: "POST",
        headers: { "Content-Type": "application/x-ndjson", "X-Request-Id": id },
        body: '{"n":1}\n{"n":2}\n',
      });
    expect((await send(receiver.url, "batch-of-two")).status).to.equal(202);
    const events = await receiver.count(2);
    expect(events.map(({ json }) => json.data.result.input.n).sort()).to.deep.equal([1, 2]);
    // The batch's own id says nothing of its lines: that a task has it does not excuse the webhook from being judged.
    await server.send("/v1/requests/known", { method: "PUT", body: 1 });
    expect((await send("https://10.0.0.1/", "known")).json).to.include({ parameter: "webhook" });
  });

  it("are refused in a dry run as well", async () => {
    const answer = await server.send(`/v1/requests${asked("https://10.0.0.1/")}&dryRun=true`, {
      method: "POST",
      body: 1,
    });
    expect(answer.status).to.equal(400);
  });

  it("are neither checked again nor changed if a submission is repeated", async () => {
    const gate = closedGate();
    const send = (url: string) =>
      server.send(`/v1/queues/gated/requests${asked(url)}`, {
        method: "POST",
        headers: { "X-Request-Id": "repeated", Prefer: "respond-async" },
        body: gate.input,
      });
    expect((await send(receiver.url)).status).to.equal(202);
    const again = await send("https://10.0.0.1/");
    expect([again.status, again.headers["idempotent-replayed"]]).to.deep.equal([202, "true"]);
    gate.open("done");
    const [event] = await receiver.count(1);
    expect(event?.json.data).to.include({ id: "repeated", result: "done" });
  });
});

describe("webhooks when processes stop", function () {
  // It starts processes one after the other.
  this.timeout(120_000);
  let receiver: Receiver;
  let killed: ServerProcess | undefined;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    killed?.child.kill("SIGKILL");
    await receiver.close();
  });

  const asked = () => `?webhook=${encodeURIComponent(receiver.url)}`;

  it("survive the end of the API process that accepted the task", async () => {
    const first = await startServer({ ...ENV, ROLE: "api" });
    const id = await first.enqueue("default", 1, asked());
    expect((await first.send(`/v1/requests/${id}`, { method: "DELETE" })).status).to.equal(200);
    await first.stop({ keep: true });
    expect(receiver.received).to.deep.equal([]);
    const second = await startServer({ ...ENV, KEY_PREFIX: first.prefix });
    const [event] = await receiver.count(1);
    expect(event?.json).to.have.property("type", "task.canceled");
    expect(event?.json.data.id).to.equal(id);
    await second.stop();
  });

  it("are sent again, with the same webhook-id, if the worker is killed while it delivers", async () => {
    const api = await startServer({ ...ENV, ROLE: "api" });
    const env = {
      ...ENV,
      KEY_PREFIX: api.prefix,
      HANDLERS: path.join(ROOT, "test/fixtures/handlers"),
      ROLE: "worker",
    };
    receiver.answers((n) => (n === 0 ? undefined : 204));
    killed = await startProcess(env);
    await api.enqueue("default", 1, asked());
    await receiver.count(1);
    killed.child.kill("SIGKILL");
    await killed.ended;
    await endLeases(api.prefix, "paihao.webhooks");
    const worker = await startServer({ ...ENV, KEY_PREFIX: api.prefix });
    const [first, second] = await receiver.count(2);
    expect(second?.headers["webhook-id"]).to.equal(first?.headers["webhook-id"]);
    expect(second?.body).to.equal(first?.body);
    await worker.stop({ keep: true });
    await api.stop();
  });

  it("are refused while MAX_WAITING deliveries wait; accepted ones are delivered", async () => {
    const env = { ...ENV, MAX_WAITING: "3", PARTITIONS: "1" };
    const api = await startServer({ ...env, ROLE: "api" });
    const submit = (id: string, search = asked()) =>
      api.send(`/v1/requests${search}`, {
        method: "POST",
        headers: { "X-Request-Id": id, Prefer: "respond-async" },
        body: 1,
      });
    const told = ["a", "b", "c"];
    for (const id of told) {
      expect((await submit(id)).status).to.equal(202);
      // Nobody runs it: so that it ends, and is to be told, it is canceled.
      await api.send(`/v1/requests/${id}`, { method: "DELETE" });
    }
    const refused = await submit("d");
    expect([refused.status, refused.json.type]).to.deep.equal([503, "/problems/queue-full"]);
    expect(refused.json.queue).to.equal("paihao.webhooks");
    expect(Number(refused.headers["retry-after"])).to.be.at.least(1);
    expect((await api.send("/v1/requests/d")).json.type).to.equal("/problems/unknown");
    expect((await submit("e", "")).status).to.equal(202);
    expect((await submit("a")).status, "a repetition").to.equal(410);

    const worker = await startServer({ ...env, KEY_PREFIX: api.prefix, ROLE: "all" });
    const events = await receiver.count(3);
    expect(events.map(({ json }) => json.data.id).sort()).to.deep.equal(told);
    await eventually(async () => (await submit("d")).status !== 503);
    await worker.stop({ keep: true });
    await api.stop();
  });

  it("contain signed links if links are signed, so that a receiver needs no key to collect", async () => {
    const server = await startServer({ ...ENV, URL_SIGNING_KEY: "a secret of some length" });
    await server.enqueue("default", { text: "x".repeat(20_000) }, asked());
    const [event] = await receiver.count(1);
    const link = event?.json.data.links.find(({ rel }: { rel: string }) => rel === "result");
    expect(link.href).to.match(/\?expires=\d+&signature=/);
    expect((await server.send(link.href)).json.input.text).to.have.length(20_000);
    await server.stop();
  });
});
