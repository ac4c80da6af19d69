import { expect } from "chai";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { messageId, signatureOf } from "../../../src/extras/webhooks/signature.ts";

const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString("base64")}`;
/** Asked for when it is needed: the reference library takes nothing that is older than five minutes. */
const nowS = () => Math.floor(Date.now() / 1000);

describe("the signature of a webhook (Standard Webhooks 1.0)", () => {
  it("is byte for byte that of the reference library, for any secret, id and body", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 24, maxLength: 64 }),
        fc.string(),
        fc.integer({ min: 0, max: 4_102_444_800 }),
        fc.oneof(fc.json(), fc.string({ unit: "grapheme" })),
        (bytes, taskId, timestampS, body) => {
          const secret = secretOf(bytes);
          const id = messageId(taskId);
          const reference = new Webhook(secret).sign(id, new Date(timestampS * 1000), body);
          expect(signatureOf([secret], { id, timestampS, body })).to.equal(reference);
        },
      ),
    );
  });

  it("matches the example in the reference library's tests", () => {
    const message = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestampS: 1614265330, body: '{"test": 2432232314}' };
    const signature = signatureOf(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], message);
    expect(signature).to.equal("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  it("has one part for each secret while they are rotated, so that either verifies it", () => {
    const [fresh, old, other] = [1, 2, 3].map((n) => secretOf(new Uint8Array(32).fill(n))) as [string, string, string];
    const timestampS = nowS();
    const message = { id: "msg_1", timestampS, body: '{"type":"task.succeeded"}' };
    const signature = signatureOf([fresh, old], message);
    expect(signature.split(" ")).to.have.length(2);
    const headers = { "webhook-id": "msg_1", "webhook-timestamp": String(timestampS), "webhook-signature": signature };
    for (const secret of [fresh, old]) {
      expect(new Webhook(secret).verify(message.body, headers)).to.deep.equal({ type: "task.succeeded" });
    }
    expect(() => new Webhook(other).verify(message.body, headers)).to.throw();
  });
});

describe("the webhook-id", () => {
  it("contains no full stop, whatever the task's id", () => {
    fc.assert(fc.property(fc.string(), (id) => /^msg_[0-9a-f]{32}$/.test(messageId(`${id}.1.2`))));
  });
});
