import { expect } from "chai";
import { quoted, sampleOf } from "../../src/words/sample.ts";

describe("the sample of an input", () => {
  it("is an example or the default, else has the members that the schema requires", () => {
    const schema = {
      type: "object",
      properties: {
        seconds: { type: "number", examples: [3] },
        currency: { enum: ["EUR", "CNY"] },
        count: { type: "integer", minimum: 2 },
        to: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        code: { type: "string", minLength: 6 },
        either: { anyOf: [{ type: "boolean" }, { type: "null" }] },
        optional: { type: "string" },
      },
      required: ["seconds", "currency", "count", "to", "code", "either"],
    };
    const sample = { seconds: 3, currency: "EUR", count: 2, to: { name: "" }, code: "text..", either: false };
    expect(sampleOf(schema)).to.deep.equal(sample);
    expect(sampleOf({})).to.deep.equal({});
    expect(sampleOf({ type: ["string", "null"], default: "a" })).to.equal("a");
  });

  it("is one word of a shell", () => {
    expect(quoted(`{"a":"it's"}`)).to.equal(`'{"a":"it'\\''s"}'`);
  });
});
