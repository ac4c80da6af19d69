import { expect } from "chai";
import { beforeMember, RESULT_LIMIT, resultJson } from "../../../src/engine/tasks/result-json.ts";

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
