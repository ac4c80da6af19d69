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
  it("is a valid X-Request-Id", () => {
    for (const id of ["a", "0198f2c4-0000-7000-8000-000000000000", "A.b_c~d-9", "x".repeat(128)]) {
      expect(idOf({ "x-request-id": id })).to.equal(id);
    }
  });

  it("is a new one if X-Request-Id is absent or invalid", () => {
    const unfit = [
      "",
      "-a",
      ".a",
      "~a",
      "_a",
      "a b",
      "a/b",
      "a,b",
      "ä",
      "a\u0000",
      'a"b',
      "x".repeat(129),
      "a\n",
      "{a}",
    ];
    for (const id of [undefined, ...unfit]) {
      const made = idOf(id === undefined ? {} : { "x-request-id": id });
      expect(made).to.match(UUID);
    }
    expect(idOf({})).to.not.equal(idOf({}));
  });

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

  it("cannot be computed without the deployment's secret", () => {
    const request = { ...matched("POST", POST), headers: { "idempotency-key": "order-17" } };
    expect(requestIdOf(request, null, { value: "of another" }, ONE)).to.not.equal(idOf(request.headers));
    expect(requestIdOf(request, null, { value: SECRET.value }, ONE)).to.equal(idOf(request.headers));
  });

  it("is the same for a quoted key and a bare one (RFC 9651 §3.3.3)", () => {
    expect(idOf({ "idempotency-key": '"order-17"' })).to.equal(idOf({ "idempotency-key": "order-17" }));
    expect(idOf({ "idempotency-key": '"a\\"b"' })).to.equal(idOf({ "idempotency-key": 'a"b' }));
  });

  it("is not derived from a key on requests that submit nothing", () => {
    const headers = { "idempotency-key": "order-17", "x-request-id": "mine" };
    expect(idOf(headers, "/v1/requests/abc", "GET")).to.equal("mine");
    expect(idOf(headers, "/v1/queues/default/pause", "POST")).to.equal("mine");
    expect(idOf(headers, "/v1/requests/abc", "PUT")).to.equal("abc");
  });

  it("is the one in the path of a PUT, as the router reads it", () => {
    expect(idOf({ "x-request-id": "mine" }, "/v1/requests/abc", "PUT")).to.equal("abc");
    expect(idOf({}, "/v1/queues/default/requests/abc", "PUT")).to.equal("abc");
    expect(idOf({}, "/v1/requests/a%62c", "PUT")).to.equal("abc");
    expect(idOf({ "x-request-id": "mine" }, "/v1/requests/-abc", "PUT")).to.equal("mine");
    expect(idOf({ "x-request-id": "mine" }, "/v1/requests/%E0%A4%A", "PUT")).to.equal("mine");
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
