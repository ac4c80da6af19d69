import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { z } from "zod";
import { prediction } from "../../../src/extras/replicate/prediction.ts";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { ROOT } from "../../shared/root.ts";
import { startReceiver } from "../webhooks/receiver.ts";

const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;
const PREDICTIONS = "/replicate/v1/predictions";

/** What is used of Replicate's library: it has no types that are right for every version. */
interface Library {
  run(model: string, options: object, progress?: (prediction: { status: string }) => void): Promise<unknown>;
  readonly predictions: {
    create(options: object): Promise<{ id: string; status: string; urls: { get: string } }>;
    get(id: string): Promise<{ status: string; output: unknown; error: string | null }>;
    cancel(id: string): Promise<{ status: string }>;
  };
}
interface Module {
  readonly default: new (options: object) => Library;
  readonly validateWebhook: (request: object, secret: string) => Promise<boolean>;
}

describe("predictions of Replicate's API", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ REPLICATE: "true", WEBHOOK_ALLOW: "127.0.0.1", WEBHOOK_SECRET: SECRET });
  });
  after(() => server.stop());

  const predict = (body: unknown, headers: Record<string, string> = {}, path = PREDICTIONS) =>
    server.send(path, { method: "POST", body, headers });

  it("are tasks: submitted, read, and finished in one request with Prefer: wait", async () => {
    const { status, json } = await predict({ version: "default", input: { n: 1 } }, { Prefer: "wait" });
    expect(status).to.equal(201);
    expect(json).to.include({ status: "succeeded", model: "default", version: "default", error: null });
    expect(json.input).to.deep.equal({ n: 1 });
    expect(json.output.input).to.deep.equal({ n: 1 });
    expect(json.completed_at).to.be.a("string");
    expect(z.strictObject(prediction.shape).safeParse(json).error).to.equal(undefined);
    const again = await server.send(new URL(json.urls.get).pathname);
    expect(again.json).to.include({ id: json.id, status: "succeeded" });
    expect((await server.send(`/v1/requests/${json.id}`)).json.input).to.deep.equal({ n: 1 });
  });

  it("are distinguished by request ids as long as ids may be", async () => {
    const ids = ["a", "b"].map((end) => `${"long".repeat(31)}key${end}`);
    const answers = [];
    for (const [n, id] of ids.entries()) {
      answers.push((await predict({ version: "default", input: { n } }, { Prefer: "wait", "X-Request-Id": id })).json);
    }
    expect(answers.map(({ output }) => output.input.n)).to.deep.equal([0, 1]);
    expect(answers[0].id).to.match(/^prediction-/);
  });

  it("name their queue by model or version", async () => {
    for (const version of ["default", "somebody/default", "somebody/default:abc"]) {
      expect((await predict({ version }, { Prefer: "wait" })).json.status, version).to.equal("succeeded");
    }
    const model = await predict({ input: {} }, { Prefer: "wait" }, "/replicate/v1/models/somebody/default/predictions");
    expect(model.json.status).to.equal("succeeded");
    expect((await predict({ input: {} })).json.type).to.equal("/problems/invalid-parameter");
    expect((await predict({ version: "no-such" })).json.type).to.equal("/problems/unknown-queue");
    expect((await predict({ version: "checked", input: { width: 0 } })).json.errors[0].pointer).to.equal("#/width");
    expect((await predict({ version: "images" })).status).to.equal(415);
  });

  it("start, are processed, and are canceled", async () => {
    const gate = closedGate();
    const { json } = await predict({ version: "gated", input: gate.input }, { Prefer: "wait=1" });
    expect(json.status, "for clients that would take anything else for the end").to.equal("starting");
    await gate.entered;
    expect((await server.send(`${PREDICTIONS}/${json.id}`)).json.status).to.equal("processing");
    const canceled = await server.send(`${PREDICTIONS}/${json.id}/cancel`, { method: "POST" });
    expect(canceled.status).to.equal(200);
    await server.until(json.id, "canceled");
    const { json: after } = await server.send(`${PREDICTIONS}/${json.id}`);
    expect(after).to.include({ status: "canceled", output: null });
    const done = await predict({ version: "default" }, { Prefer: "wait" });
    await server.send(`${PREDICTIONS}/${done.json.id}/cancel`, { method: "POST" });
    expect((await server.send(`/v1/requests/${done.json.id}`)).status, "its result stays").to.equal(200);
  });

  it("say why they failed, and link to an output that is not JSON", async () => {
    const failed = await predict(
      { version: "giving-up", input: { title: "Not today", status: 422 } },
      { Prefer: "wait" },
    );
    expect(failed.json).to.include({ status: "failed", error: "Not today", output: null });
    const text = await predict({ version: "answers", input: { kind: "text" } }, { Prefer: "wait" });
    expect(text.json.output).to.equal(`${server.url}/v1/requests/${text.json.id}`);
    const none = await predict({ version: "answers", input: { kind: "nothing" } }, { Prefer: "wait" });
    expect(none.json).to.include({ status: "succeeded", output: null });
  });

  it("are the same when they are sent again under a key", async () => {
    const headers = { Prefer: "wait", "Idempotency-Key": "prediction-1" };
    const [first, second] = [
      await predict({ version: "default", input: { n: 1 } }, headers),
      await predict({ version: "default", input: { n: 1 } }, headers),
    ];
    expect(second.json.id).to.equal(first.json.id);
    expect((await predict({ version: "default", input: { n: 2 } }, headers)).status).to.equal(422);
    const models = "/replicate/v1/models/somebody";
    const path = await predict({ input: { n: 1 } }, headers, `${models}/default/predictions`);
    expect(path.json.id, "the same model").to.equal(first.json.id);
    const [other, again] = [
      await predict({ version: "answers", input: { kind: "json" } }, headers),
      await predict({ input: { kind: "json" } }, headers, `${models}/answers/predictions`),
    ];
    expect([other.status, again.status], "another model").to.deep.equal([201, 201]);
    expect(other.json.id).to.equal(again.json.id).and.not.equal(first.json.id);
  });

  it("are reported to a webhook in their own form when they end", async () => {
    const receiver = await startReceiver();
    try {
      const webhook = receiver.url;
      await predict({ version: "default", input: {}, webhook, webhook_events_filter: ["start"] }, { Prefer: "wait" });
      const { json } = await predict({ version: "default", input: {}, webhook, webhook_events_filter: ["completed"] });
      const [event] = await receiver.count(1);
      expect(event?.json).to.include({ id: json.id, status: "succeeded", model: "default" });
      expect(event?.json.output.id).to.equal(json.id);
    } finally {
      await receiver.close();
    }
  });

  it("belong to their caller", async () => {
    const keys = testKeys({ ada: ["submit"], bob: ["submit"] });
    const guarded = await startServer({ ...keys.env, REPLICATE: "true" });
    try {
      const body = { version: "default", input: {} };
      expect((await guarded.send(PREDICTIONS, { method: "POST", body })).status).to.equal(401);
      const { json } = await guarded.send(PREDICTIONS, { method: "POST", body, headers: keys.as("ada") });
      const path = `${PREDICTIONS}/${json.id}`;
      expect((await guarded.send(path, { headers: keys.as("ada") })).status).to.equal(200);
      expect((await guarded.send(path, { headers: keys.as("bob") })).status).to.equal(404);
      const cancel = await guarded.send(`${path}/cancel`, { method: "POST", headers: keys.as("bob") });
      expect(cancel.status).to.equal(404);
    } finally {
      await guarded.stop();
    }
  });

  it("are not served unless REPLICATE is set", async () => {
    const plain = await startServer();
    try {
      const answer = await plain.send(PREDICTIONS, { method: "POST", body: { version: "default" } });
      expect(answer.status).to.equal(404);
      expect(answer.json.type).to.equal("/problems/not-found");
    } finally {
      await plain.stop();
    }
  });

  it("are what Replicate's own library expects", async function () {
    if (!existsSync(join(ROOT, "node_modules/replicate"))) return this.skip();
    const name = "replicate";
    const { default: Replicate, validateWebhook } = (await import(name)) as Module;
    const replicate = new Replicate({ baseUrl: `${server.url}/replicate/v1`, auth: "none" });
    const seen: string[] = [];
    const output = await replicate.run("somebody/default", { input: { n: 1 } }, ({ status }) => seen.push(status));
    expect(output).to.have.deep.property("input", { n: 1 });
    expect(seen).to.include("succeeded");

    const gate = closedGate();
    const polled = replicate.run("somebody/gated", { input: gate.input, wait: { mode: "poll", interval: 20 } });
    await gate.entered;
    gate.open({ at: "last" });
    expect(await polled).to.deep.equal({ at: "last" });

    const failing = replicate.run("somebody/giving-up", { input: { title: "Not today" } });
    expect(String(await failing.catch((error: unknown) => error))).to.include("Prediction failed: Not today");

    const held = closedGate();
    const { id, status } = await replicate.predictions.create({ version: "gated", input: held.input });
    expect(status).to.equal("starting");
    await held.entered;
    await replicate.predictions.cancel(id);
    await server.until(id, "canceled");
    expect((await replicate.predictions.get(id)).status).to.equal("canceled");

    const receiver = await startReceiver();
    try {
      await replicate.predictions.create({ version: "default", input: {}, webhook: receiver.url });
      const [event] = await receiver.count(1);
      const valid = await validateWebhook({ headers: event?.headers, body: event?.body }, SECRET);
      expect(valid).to.equal(true);
    } finally {
      await receiver.close();
    }
  });
});
