import { expect } from "chai";
import { traceHeadersOf, traceOf } from "../../src/trace/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${TRACE}-${SPAN}-01`;

describe("the trace of a request", () => {
  it("is its traceparent, with its tracestate", () => {
    expect(traceOf({ traceparent: PARENT })).to.equal(PARENT);
    expect(traceOf({ traceparent: PARENT, tracestate: "a=1,b=2" })).to.equal(`${PARENT} a=1,b=2`);
    expect(traceHeadersOf(PARENT)).to.deep.equal({ traceparent: PARENT });
    expect(traceHeadersOf(`${PARENT} a=1 2`)).to.deep.equal({ traceparent: PARENT, tracestate: "a=1 2" });
    expect(traceHeadersOf("")).to.deep.equal({});
  });

  it("is empty if traceparent is invalid (W3C Trace Context §3.2.2)", () => {
    const invalid = [
      "",
      "00",
      `00-${TRACE}-${SPAN}`,
      `00-${TRACE}-${SPAN}-1`,
      `00-${TRACE.toUpperCase()}-${SPAN}-01`,
      `00-${"0".repeat(32)}-${SPAN}-01`,
      `00-${TRACE}-${"0".repeat(16)}-01`,
      `ff-${TRACE}-${SPAN}-01`,
      `${PARENT}-more`,
      ` ${PARENT}`,
      `${PARENT}, ${PARENT}`,
      `${PARENT}\n`,
      `00-${TRACE.slice(1)}g-${SPAN}-01`,
    ];
    for (const traceparent of invalid) expect(traceOf({ traceparent, tracestate: "a=1" }), traceparent).to.equal("");
    expect(traceOf({ tracestate: "a=1" })).to.equal("");
  });

  it("has the version and flags that we know", () => {
    expect(traceOf({ traceparent: `01-${TRACE}-${SPAN}-01` })).to.equal(PARENT);
    expect(traceOf({ traceparent: `cc-${TRACE}-${SPAN}-01-what-the-future-brings` })).to.equal(PARENT);
    expect(traceOf({ traceparent: `cc-${TRACE}-${SPAN}-01.what` })).to.equal("");
    expect(traceOf({ traceparent: `00-${TRACE}-${SPAN}-fd` })).to.equal(PARENT);
    expect(traceOf({ traceparent: `00-${TRACE}-${SPAN}-00` })).to.equal(`00-${TRACE}-${SPAN}-00`);
  });

  const stateOf = (tracestate: string) => traceHeadersOf(traceOf({ traceparent: PARENT, tracestate })).tracestate;

  it("keeps up to 512 characters of a tracestate: long members are dropped first, then the last ones (§3.3.1.5)", () => {
    const long = `long=${"x".repeat(200)}`;
    const short = Array.from({ length: 10 }, (_, n) => `key${n}=${"y".repeat(40)}`);
    expect(stateOf([long, ...short].join(","))).to.equal(short.join(","));
    const many = Array.from({ length: 30 }, (_, n) => `m${n}=${"z".repeat(40)}`);
    const kept = stateOf(many.join(","))?.split(",") ?? [];
    expect(kept).to.deep.equal(many.slice(0, kept.length));
    expect(kept.join(",").length).to.be.within(450, 512);
  });

  it("drops only the tracestate if that is invalid (§3.3.1)", () => {
    const invalid = [
      "a",
      "=1",
      "A=1",
      "a=1,b",
      "a=ü",
      "a=1=2",
      Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(","),
    ];
    for (const tracestate of invalid) {
      expect(traceOf({ traceparent: PARENT, tracestate }), tracestate).to.equal(PARENT);
    }
    expect(stateOf(" a=1 ,, tenant@vendor=2\t")).to.equal("a=1,tenant@vendor=2");
  });
});
