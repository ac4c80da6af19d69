import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import type { Context } from "koa";
import type { FairOptions, Handler } from "../../../src/handler/define.ts";
import { lineKeysOf } from "../../../src/http/submit/line-keys.ts";
import { createLog } from "../../../src/log.ts";

const TASK = { id: "a", queue: "jobs", query: {}, mediaType: "application/json", caller: "ann" };
const CTX = { ip: "192.0.2.7", state: {} } as Context;

/** What was logged since it was last emptied. */
const logged: string[] = [];
const log = createLog("warn", { destination: { write: (line) => logged.push(line) } });

const keysOf = (handler: object, value: unknown = 1) =>
  lineKeysOf(CTX, handler as Handler, { ...TASK, secret: "x" } as typeof TASK, value, log);
const fairBy = (by: unknown, weight?: FairOptions["weight"]) => ({ fair: { by, weight } });
const keyedBy = (by: unknown) => ({ keyed: { by } });

describe("the line keys of a submission", () => {
  it("are derived from the validated input and what callers see of the task", () => {
    const asked: unknown[] = [];
    const by = (...given: unknown[]) => {
      asked.push(...given);
      return "k";
    };
    expect(keysOf({ ...fairBy(by), ...keyedBy(() => "k2") }, { n: 1 })).to.deep.equal({
      share: { key: "k", weight: 1 },
      key: "k2",
    });
    expect(asked).to.deep.equal([{ n: 1 }, TASK]);
    expect(keysOf({ ...keyedBy(() => "keyed"), limit: { by: () => "limited" } }).key).to.equal("limited");
    expect(keysOf(fairBy(by))).to.have.property("key", undefined);
    expect(keysOf(keyedBy(by))).to.have.property("share", undefined);
  });

  it("may be the sender", () => {
    const key = "address 192.0.2.7";
    expect(keysOf({ fair: "caller", limit: { by: "caller" } })).to.deep.equal({ share: { key, weight: 1 }, key });
  });

  it("may be none in a keyed line, but not in a fair one", () => {
    expect(keysOf(keyedBy(() => null)).key).to.equal(null);
    expect(() => keysOf(fairBy(() => null)))
      .to.throw()
      .with.property("code", "invalid-input");
  });

  it("have at most 256 bytes", () => {
    expect(keysOf(keyedBy(() => "é".repeat(128))).key).to.have.length(128);
    expect(() => keysOf(keyedBy(() => "é".repeat(129))))
      .to.throw()
      .with.property("code", "invalid-input");
  });

  it("are refused without the handler's error if the function throws or returns no text", () => {
    const detail = "the queue cannot derive a key from this input";
    const failing = () => {
      throw new Error("secret");
    };
    for (const by of [failing, () => 7, () => undefined, () => Promise.reject(new Error("secret"))]) {
      for (const handler of [keyedBy(by), fairBy(by), { limit: { by } }]) {
        const error = expect(() => keysOf(handler)).to.throw();
        error.with.property("code", "invalid-input");
        error.with.property("message", `#: ${detail}`);
        error.with.deep.property("extensions", { errors: [{ pointer: "#", detail }] });
      }
    }
  });

  it("are refused with a line in the log that names the task and the error", () => {
    const failing = () => {
      throw new Error("no such customer");
    };
    for (const [by, reason] of [
      [failing, "no such customer"],
      [() => 7, "string"],
    ] as const) {
      logged.length = 0;
      expect(() => keysOf(keyedBy(by))).to.throw();
      expect(logged).to.have.length(1);
      expect(logged[0]).to.include(reason).and.include('"id":"a"').and.include('"queue":"jobs"');
    }
  });

  it("are refused without an unhandled rejection if the function returns a promise that fails", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    expect(() => keysOf(keyedBy(() => Promise.reject(new Error("late"))))).to.throw();
    await turn();
    process.off("unhandledRejection", note);
    expect(unhandled).to.deep.equal([]);
  });

  it("have the weight that the handler gives them, or 1", () => {
    const weight = (key: string) => key.length;
    expect(keysOf(fairBy(() => "four", weight)).share).to.deep.equal({ key: "four", weight: 4 });
    const failing = () => {
      throw new Error("no weight");
    };
    logged.length = 0;
    expect(keysOf(fairBy(() => "four")).share).to.deep.equal({ key: "four", weight: 1 });
    expect(logged).to.deep.equal([]);
    expect(keysOf(fairBy(() => "four", failing)).share).to.deep.equal({ key: "four", weight: 1 });
    expect(logged.join()).to.include("no weight");
  });
});
