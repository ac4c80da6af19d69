import { expect } from "chai";
import { z } from "zod";
import { invalidInput, pointerOf } from "../../../src/http/request/field-errors.ts";
import type { FieldError } from "../../../src/wire/problem.ts";

const errorsOf = (schema: z.ZodType, value: unknown) => {
  const issues = schema.safeParse(value).error?.issues ?? [];
  const { extensions, message } = invalidInput(issues);
  return { ...extensions, message } as { errors: FieldError[]; moreErrors?: number; message: string };
};

describe("the errors of an invalid input", () => {
  it("have a detail of at most 512 characters, whole ones", () => {
    const long = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`😀${i}`, 1]));
    const { errors, message } = errorsOf(z.strictObject({}), long);
    expect(errors[0]?.detail)
      .to.match(/^Unrecognized keys: .*…$/u)
      .and.have.length.within(500, 512);
    expect(message.length).to.be.below(1100);
  });

  it("point to the innermost value within the reach of a pointer of 512 characters", () => {
    const long = "k".repeat(500_000);
    const deep = z.object({ a: z.array(z.record(z.string(), z.object({ b: z.string() }))) });
    const { errors } = errorsOf(deep, { a: [{ short: {} }, { [long]: {} }] });
    expect(errors.map(({ pointer }) => pointer)).to.deep.equal(["#/a/0/short/b", "#/a/1"]);
    expect(pointerOf(Array(1000).fill("ü"))).to.have.length.within(500, 512);
  });

  it("also point to names that are not valid Unicode", () => {
    const { errors } = errorsOf(z.record(z.string(), z.string()), { "\ud800": 1 });
    expect(errors[0]?.pointer).to.equal("#/%EF%BF%BD");
  });
});
