import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import type { StepVerdict, StoredStep } from "../../../src/store/task/attempt.ts";
import type { InSpan } from "../../../src/trace/tracing.ts";
import { type StepStore, Steps } from "../../../src/workers/attempt/steps.ts";
import { Context } from "../../../src/workers/attempt/task-context.ts";
import { attemptOf, LIMITS } from "../../helpers/attempt.ts";
import { deferred } from "../../helpers/deferred.ts";

const messageOf = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message);

describe("the steps of an attempt", () => {
  const open = (store: Partial<StepStore> = {}, inSpan?: InSpan) => {
    const abort = new AbortController();
    const kept: string[] = [];
    const all: StepStore = {
      load: async () => new Map<string, StoredStep>(),
      begin: async () => "ok",
      keep: async (name, json, undo) => {
        kept.push(`${name} ${json} ${undo}`);
        return "ok";
      },
      undone: async () => "ok",
      ...store,
    };
    const actions = { steps: all, signal: abort.signal, inSpan };
    const steps = new Steps("task-1", actions, 1000, (name) => name === "undoable");
    return { steps, abort, kept };
  };

  it("are kept with whether they can be undone", async () => {
    const { steps, kept } = open();
    expect(await steps.step("undoable", () => ({ n: 1 }))).to.deep.equal({ n: 1 });
    await steps.step("plain", () => undefined);
    expect(kept).to.deep.equal(['undoable {"n":1} true', "plain null false"]);
  });

  it("do not begin once the signal has fired, nor if it fires while the store is asked", async () => {
    let [asked, worked] = [0, 0];
    const { steps, abort } = open({
      begin: async () => {
        asked += 1;
        abort.abort(new Error("stop"));
        return "ok";
      },
    });
    const work = () => {
      worked += 1;
    };
    expect(await messageOf(steps.step("a", work))).to.equal("stop");
    expect(await messageOf(steps.step("b", work))).to.equal("stop");
    expect([asked, worked]).to.deep.equal([1, 0]);
  });

  it("do not begin if the store says so", async () => {
    const worked: string[] = [];
    for (const verdict of ["stale", "canceled", "deadline", "abandoned", "many"] satisfies StepVerdict[]) {
      const { steps } = open({ begin: async () => verdict });
      await steps.step("a", () => worked.push(verdict)).catch(() => undefined);
    }
    const { steps } = open({ load: async () => null });
    expect(await messageOf(steps.step("a", () => worked.push("lost")))).to.contain("no longer belongs to this worker");
    expect(worked).to.deep.equal([]);
  });

  it("are awaited at the end, also those that begin meanwhile", async () => {
    const { steps, kept } = open();
    const gates = [deferred(), deferred()] as const;
    void steps.step("first", async () => {
      await gates[0].promise;
      void steps.step("second", () => gates[1].promise);
    });
    let settled = false;
    const end = steps.settled().then(() => {
      settled = true;
    });
    for (const gate of gates) {
      await turn();
      expect(settled).to.equal(false);
      gate.resolve();
    }
    await end;
    expect(kept).to.have.length(2);
  });

  it("read the steps of earlier attempts once, and again if that failed", async () => {
    let loads = 0;
    const { steps } = open({
      load: async () => {
        loads += 1;
        if (loads === 1) throw new Error("refused");
        return new Map([["a", { json: '"kept"', undo: "none" } as StoredStep]]);
      },
    });
    expect(await messageOf(steps.step("a", () => "anew"))).to.equal("refused");
    expect(await steps.step("a", () => "anew")).to.equal("kept");
    expect(await steps.step("b", () => "new")).to.equal("new");
    expect(loads).to.equal(2);
  });

  it("have names of at most 1024 bytes, and are named by their first part in a trace", async () => {
    const names: string[] = [];
    const { steps } = open({}, async (spec, work) => {
      names.push(spec.name);
      return work({}, () => undefined);
    });
    for (const name of ["x".repeat(1024), "fetch:7"]) expect(await steps.step(name, () => 1)).to.equal(1);
    expect(names.at(-1)).to.equal("step fetch");
    for (const name of ["x".repeat(1025), "", 7 as unknown as string])
      expect(await messageOf(steps.step(name, () => 1)), String(name)).to.match(/name/);
    expect(names).to.have.length(2);
  });
});

describe("what a handler reports without a message", () => {
  it("has an empty one", () => {
    const reported: unknown[] = [];
    const reporter = { report: (...args: unknown[]) => reported.push(args) };
    const attempt = attemptOf();
    const context = new Context(
      attempt.facts,
      Object.create(attempt, { reporter: { value: reporter } }),
      { undo: undefined },
      LIMITS,
    );
    context.progress(5);
    expect(reported).to.deep.equal([[5, ""]]);
  });
});
