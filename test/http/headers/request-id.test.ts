import { expect } from "chai";
import { ProblemError } from "../../../src/errors.ts";
import { checkIdempotencyKey, requestIdOf } from "../../../src/http/headers/request-id.ts";
import { Keys } from "../../../src/store/keys.ts";
import { matched } from "../../helpers/http/matched.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const POST = "/v1/requests";
const ONE = new Keys("ids:", 1);
const SECRET = { value: "of this deployment" };
const idOf = (headers: Record<string, string>, path = POST, method = "POST", caller: string | null = null) =>
  requestIdOf({ ...matched(method, path), headers }, caller, SECRET, ONE);

describe("the id of a request", () => {
  it("is derived from caller, queue and Idempotency-Key if a task is submitted with one", () => {
    const key = { "idempotency-key": "order-17" };
    expect(idOf(key)).to.match(UUID).and.equal(idOf(key));
    expect(idOf({ ...key, "x-request-id": "mine" })).to.equal(idOf(key));
    expect(idOf(key, "/v1/queues/default/requests")).to.equal(idOf(key));
    expect(idOf(key, "/v1/queues/d%65fault/requests"), "an escaped path").to.equal(idOf(key));
    expect(idOf(key, "/v1/requests/")).to.equal(idOf(key));
    expect(idOf(key, "/v1/queues/other/requests")).to.not.equal(idOf(key));
    expect(idOf(key, POST, "POST", "ann")).to.not.equal(idOf(key));
    expect(idOf({ "idempotency-key": "order-18" })).to.not.equal(idOf(key));
  });

  it("leads to the partition of the queue, unless the caller chose it; that of a key is the same each time", () => {
    const keys = new Keys("ids:", 7);
    const idFor = (path: string, headers: Record<string, string> = {}) =>
      requestIdOf({ ...matched("POST", path), headers }, null, SECRET, keys);
    for (const queue of ["default", "a", "b", "c", "paihao.webhooks.99"]) {
      const path = `/v1/queues/${queue}/requests`;
      const home = keys.partitionOfQueue(queue);
      for (let n = 0; n < 5; n += 1) {
        const key = { "idempotency-key": `order-${n}` };
        expect(idFor(path, key)).to.equal(idFor(path, key));
        for (const id of [idFor(path), idFor(path, key)]) expect(keys.partitionOf(id)).to.equal(home);
      }
      expect(idFor(path, { "x-request-id": "mine" })).to.equal("mine");
    }
    // The queue of a task that is submitted again is known only by its id.
    expect(keys.partitionOf(idFor("/v1/requests/some-task/again"))).to.equal(keys.partitionOf("some-task"));
  });

  it("is not derived from a key on requests that submit nothing", () => {
    const headers = { "idempotency-key": "order-17", "x-request-id": "mine" };
    expect(idOf(headers, "/v1/requests/abc", "GET")).to.equal("mine");
    expect(idOf(headers, "/v1/queues/default/pause", "POST")).to.equal("mine");
    expect(idOf(headers, "/v1/requests/abc", "PUT")).to.equal("abc");
  });

  it("is not derived from an invalid Idempotency-Key", () => {
    const accepts = (key: string) => {
      try {
        checkIdempotencyKey({ "idempotency-key": key });
        return true;
      } catch (error) {
        expect(error).to.be.instanceOf(ProblemError);
        expect((error as ProblemError).extensions).to.deep.equal({ parameter: "Idempotency-Key" });
        return false;
      }
    };
    for (const key of ["a", "x".repeat(255), '"a"', '"a\\\\b"', "a-b_c~d.e:f/g=", `"${"x".repeat(255)}"`]) {
      expect(accepts(key), key).to.equal(true);
    }
    for (const key of ["", " ", '""', "x".repeat(256), "a b", '"a b"', "ä", '"a', '"a"b"', '"a\\b"']) {
      expect(accepts(key), key).to.equal(false);
      expect(idOf({ "idempotency-key": key }))
        .to.match(UUID)
        .and.not.equal(idOf({ "idempotency-key": key }));
    }
    expect(() => checkIdempotencyKey({})).to.not.throw();
  });
});
