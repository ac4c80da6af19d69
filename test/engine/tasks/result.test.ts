import { expect } from "chai";
import {
  answerOf,
  beforeMember,
  catalogueResult,
  RESULT_LIMIT,
  resultJson,
  sizeError,
} from "../../../src/engine/tasks/result.ts";

describe("what a worker returned", () => {
  it("is JSON, bytes or nothing", () => {
    const bytes = Buffer.from([1, 2]);
    const seen = [{ n: 1 }, null, bytes, undefined].map((value) => answerOf(value));
    expect(seen.map(({ status, contentType, body }) => [status, contentType, body])).to.deep.equal([
      [200, "application/json", '{"n":1}'],
      [200, "application/json", "null"],
      [200, "application/octet-stream", bytes],
      [204, null, ""],
    ]);
    for (const { headers } of seen) expect(headers).to.deep.equal({});
  });

  it("has the status and type that it chose", () => {
    const given = { status: 201, contentType: "image/png" };
    const bytes = Buffer.from([1, 2]);
    expect(answerOf(bytes, given)).to.include({ ...given, body: bytes });
    expect(answerOf([1], given)).to.include({ ...given, body: "[1]" });
    expect(answerOf(undefined, given)).to.include({ status: 201, contentType: null, body: "" });
  });

  it("is too large from one byte beyond the limit on", () => {
    expect(sizeError({ body: "üü" }, 4)).to.equal(undefined);
    expect(sizeError({ body: Buffer.alloc(4) }, 4)).to.equal(undefined);
    expect(sizeError({ body: "üüü" }, 5)).to.include("6 bytes");
    expect(sizeError({ body: Buffer.alloc(5) }, 4)).to.include("5 bytes");
  });

  it("is a problem document if it is an error of the catalogue", () => {
    const { body, ...rest } = catalogueResult("task-failed", "It broke.");
    expect(rest).to.deep.equal({ status: 500, contentType: "application/problem+json", headers: {} });
    expect(JSON.parse(String(body))).to.include({ type: "/problems/task-failed", status: 500, detail: "It broke." });
    expect(JSON.parse(String(catalogueResult("task-failed").body))).to.have.all.keys("type", "title", "status");
  });
});

const resultOf = (body: string | Uint8Array, contentType: string | null = "application/json") => ({
  ...{ status: 200, contentType, headers: {} },
  body: typeof body === "string" ? Buffer.from(body) : body,
});

describe("the JSON of a result in a document", () => {
  it("is exactly what the handler wrote", () => {
    for (const json of ['{"n":1.0}', "12345678901234567890", '"é"', "null"]) {
      expect(resultJson(resultOf(json))).to.equal(json);
    }
    const part = new Uint8Array(Buffer.from("[1,2,3]")).subarray(1, 2);
    expect(resultJson(resultOf(part, "application/problem+json"))).to.equal("1");
  });

  it("is left out if it is no JSON, whatever its type says", () => {
    expect(resultJson(resultOf("1", "text/plain"))).to.equal(undefined);
    expect(resultJson(resultOf("1", null))).to.equal(undefined);
    expect(resultJson(resultOf("{"))).to.equal(undefined);
    expect(resultJson(resultOf(Buffer.from([0x22, 0xff, 0x22])))).to.equal(undefined);
  });

  it("is left out if it is too long", () => {
    const of = (length: number) => resultOf("1".repeat(length));
    expect(resultJson(of(RESULT_LIMIT - 1))).to.have.length(RESULT_LIMIT - 1);
    expect(resultJson(of(RESULT_LIMIT))).to.equal(undefined);
    expect([resultJson(of(2), 3), resultJson(of(3), 3)]).to.deep.equal(["11", undefined]);
  });

  it("goes into an object as another member", () => {
    expect(JSON.parse(`${beforeMember('{"a":1}', 'b"')}2}`)).to.deep.equal({ a: 1, 'b"': 2 });
  });
});
