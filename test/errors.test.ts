import { expect } from "chai";
import { messageOf, ProblemError, StartError } from "../src/errors.ts";

describe("a ProblemError", () => {
  it("carries the status of its code, and the catalogue's title if it has no detail", () => {
    const error = new ProblemError("queue-full");
    expect(error).to.be.instanceOf(Error);
    expect(error).to.include({ name: "ProblemError", code: "queue-full", status: 503, message: "The queue is full" });
    expect(error.extensions).to.deep.equal({});
    expect(error.headers).to.deep.equal({});
  });

  it("carries a detail, extensions, headers and its cause", () => {
    const cause = new Error("ECONNREFUSED");
    const error = new ProblemError("store-unavailable", "Redis does not answer", {
      cause,
      extensions: { id: "a" },
      headers: { "Retry-After": "5" },
    });
    expect(error).to.include({ message: "Redis does not answer", cause });
    expect(error.extensions).to.deep.equal({ id: "a" });
    expect(error.headers).to.deep.equal({ "Retry-After": "5" });
  });

  it("has no cause where none was given", () => {
    expect("cause" in new ProblemError("internal")).to.equal(false);
  });
});

describe("a StartError", () => {
  it("is reported by its name and message only", () => {
    expect(new StartError("PORT is taken")).to.include({ name: "StartError", message: "PORT is taken" });
  });
});

describe("messageOf", () => {
  it("returns a text for anything thrown", () => {
    expect(messageOf(new TypeError("bad"))).to.equal("bad");
    expect(messageOf("plain")).to.equal("plain");
    expect(messageOf(undefined)).to.equal("undefined");
    expect(messageOf(null)).to.equal("null");
    expect(messageOf(Symbol("s"))).to.equal("Symbol(s)");
    expect(messageOf(Object.create(null))).to.be.a("string");
    expect(messageOf(new AggregateError([new Error("one"), "two"], "all failed"))).to.equal("all failed: one, two");
    expect(messageOf(new AggregateError([new Error("one")]))).to.equal("one");
    const circular = new AggregateError([], "round");
    circular.errors.push(circular, circular);
    expect(messageOf(circular)).to.equal("round: round, round");
    expect(messageOf(Object.assign(new AggregateError([], "odd"), { errors: 1 }))).to.equal("odd");
    expect(messageOf({ message: "from another realm" })).to.equal("from another realm");
  });
});
