import { createHmac } from "node:crypto";
import { expect } from "chai";
import { verifyWebhook } from "paihao/client";
import { Webhook } from "standardwebhooks";
import { startReceiver } from "../extras/webhooks/receiver.ts";
import { closedGate } from "../helpers/gates.ts";
import { startServer } from "../helpers/http/server.ts";
import { failure } from "./failure.ts";

/** The example in the tests of the reference library. */
const VECTOR = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  atMs: 1614265330_000,
  body: '{"test": 2432232314}',
  headers: {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
};
const OTHER = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;

describe("verifyWebhook (Standard Webhooks 1.0)", () => {
  const { secret, atMs, body, headers } = VECTOR;

  it("accepts the example of the reference library, in every form that a request has", async () => {
    const expected = { id: headers["webhook-id"], test: 2432232314 };
    const url = "http://127.0.0.1/hook";
    for (const request of [
      { headers, body },
      { headers, body: new TextEncoder().encode(body) },
      { headers: new Headers(headers), body },
      new Request(url, { method: "POST", headers, body }),
    ]) {
      expect(await verifyWebhook(request, secret, atMs)).to.deep.equal(expected);
    }
    const bare = secret.slice("whsec_".length);
    expect(await verifyWebhook({ headers, body }, [OTHER, bare], atMs)).to.deep.equal(expected);
    const several = { ...headers, "webhook-signature": `v1a,x v1,AAAA ${headers["webhook-signature"]}` };
    expect(await verifyWebhook({ headers: several, body }, secret, atMs)).to.deep.equal(expected);
  });

  it("accepts what the reference library signs", async () => {
    const text = JSON.stringify({ type: "task.succeeded", data: { id: "ü" } });
    const now = new Date();
    const signed = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": new Webhook(OTHER).sign("msg_1", now, text),
    };
    expect((await verifyWebhook({ headers: signed, body: text }, OTHER)).data.id).to.equal("ü");
  });

  it("refuses a changed body, id, time, secret or signature, and an event that is too old or too new", async () => {
    for (const [wrong, at = atMs, by = secret] of [
      [{ headers, body: `${body} ` }],
      [{ headers: { ...headers, "webhook-id": "msg_2" }, body }],
      [{ headers: { ...headers, "webhook-timestamp": "1614265331" }, body }],
      [{ headers: { ...headers, "webhook-timestamp": "soon" }, body }],
      [{ headers: { ...headers, "webhook-signature": "v1,!!" }, body }],
      [{ headers: { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1", "v2") }, body }],
      [{ headers: { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "") }, body }],
      [{ headers: {}, body }],
      [{ headers, body }, atMs + 301_000],
      [{ headers, body }, atMs - 301_000],
      [{ headers, body }, atMs, OTHER],
    ] as const) {
      expect(await failure(verifyWebhook(wrong, by, at))).to.include({ kind: "unauthorized", name: "PaihaoError" });
    }
    expect(await failure(verifyWebhook({ headers, body }, "whsec_!", atMs))).to.be.instanceOf(TypeError);
  });

  it("refuses a time that is not written in digits, even if it is signed", async () => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const seconds = headers["webhook-timestamp"];
    for (const written of [
      `${seconds}.0`,
      ` ${seconds}`,
      `+${seconds}`,
      "1.61426533e9",
      "0x60374c12",
      "",
      "Infinity",
    ]) {
      const message = `${headers["webhook-id"]}.${written}.${body}`;
      const signature = `v1,${createHmac("sha256", key).update(message).digest("base64")}`;
      const signed = { ...headers, "webhook-timestamp": written, "webhook-signature": signature };
      const refused = await failure(verifyWebhook({ headers: signed, body }, secret, written === "" ? 0 : atMs));
      expect(refused, JSON.stringify(written)).to.have.property("kind", "unauthorized");
    }
  });

  it("accepts what a server sends", async () => {
    const receiver = await startReceiver();
    const server = await startServer({ WEBHOOK_ALLOW: "127.0.0.1", WEBHOOK_SECRET: OTHER });
    try {
      const gate = closedGate();
      const id = await server.enqueue("gated", gate.input, `?webhook=${encodeURIComponent(receiver.url)}`);
      gate.open("the end");
      const [event] = await receiver.count(1);
      if (!event) throw new Error("no event");
      const { type, data } = await verifyWebhook({ headers: event.headers, body: event.body }, OTHER);
      expect([type, data.id]).to.deep.equal(["task.succeeded", id]);
      if (data.state === "succeeded") expect(data).to.have.property("result", "the end");
    } finally {
      await server.stop();
      await receiver.close();
    }
  });
});
