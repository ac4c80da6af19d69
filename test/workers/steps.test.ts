import { expect } from "chai";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import type { TaskContext } from "../../src/handler/task-context.ts";
import type { Undos } from "../../src/handler/undos.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

const MAX_RESULT = 1000;
/** Room for many small steps. */
const ROOMY = { maxResultBytes: 1_000_000 };

describe("the durable steps of a task", () => {
  let shop: Workshop;
  afterEach(() => shop.close());

  const open = async (
    run: (task: TaskContext) => unknown,
    { undo, maxResultBytes = MAX_RESULT }: { undo?: Undos; maxResultBytes?: number } = {},
  ) => {
    const handler = defineHandler({
      ...{ queue: "jobs", attempts: 2, backoff: { base: "1ms" }, run: (_: unknown, task: TaskContext) => run(task) },
      ...(undo && { undo }),
    });
    shop = await openWorkshop([handler as Handler]);
    await shop.worker({ maxResultBytes });
  };
  const fails = async () => {
    const seen = await shop.ended(await shop.submit(1), "failed");
    // Another attempt would not help.
    expect(seen.attempts).to.equal(1);
    return seen.errors[0];
  };

  it("are resumed even if there are thousands", async () => {
    const max = 5000;
    let work = 0;
    await open(async (task) => {
      const all = Array.from({ length: max }, (_, n) =>
        task.step(`step ${n}`, () => {
          work += 1;
          return n;
        }),
      );
      const sum = (await Promise.all(all)).reduce((a, b) => a + b, 0);
      if (task.attempt === 1) throw new Error("once more");
      return sum;
    }, ROOMY);
    expect(await shop.answer(await shop.submit(1))).to.equal((max * (max - 1)) / 2);
    expect(work).to.equal(max);
  }).timeout(60_000);

  it("are limited to 10,000", async () => {
    await open(async (task) => {
      for (let n = 0; n < 10_001; n += 500) {
        await Promise.all(Array.from({ length: 500 }, (_, i) => task.step(`${n + i}`, () => 0)));
      }
    }, ROOMY);
    expect(await fails()).to.equal('there is no room for step "10000": the task has too many steps');
  }).timeout(60_000);

  it("have values of at most MAX_RESULT each and four times that in all; the error names the step", async () => {
    await open(async (task) => {
      await task.step("small", () => "x".repeat(MAX_RESULT - 2));
      await task.step("large", () => "x".repeat(MAX_RESULT - 1));
    });
    expect(await fails()).to.equal('the value of step "large" has 1001 bytes, more than MAX_RESULT (1000)');
    await shop.close();
    await open(async (task) => {
      for (let n = 1; n <= 5; n += 1) await task.step(`part ${n}`, () => "x".repeat(900));
    });
    expect(await fails()).to.match(/no room for step "part 5": .* too many bytes together/);
  });

  it("need values that are JSON and names of limited length; the error names the step", async () => {
    for (const [work, message] of [
      [(task: TaskContext) => task.step("big", () => 10n), /value of step "big" is not JSON: a BigInt$/],
      [
        (task: TaskContext) => task.step("odd", () => ({ seen: new Set() })),
        /step "odd" is not JSON: a Set at #\/seen$/,
      ],
      [(task: TaskContext) => task.step("", () => 1), /a step needs a name/],
      [(task: TaskContext) => task.step("ü".repeat(600), () => 1), /name of step "ü+…" is longer than 1024 bytes/],
    ] as const) {
      await open(work);
      const { errors } = await shop.ended(await shop.submit(1), "failed");
      expect(errors[0]).to.match(message);
      await shop.close();
    }
    await open(() => 1);
  });

  it("are undone even if their value was too large to be stored; the undo gets undefined", async () => {
    const undone: unknown[] = [];
    await open((task) => task.step("large", () => "x".repeat(MAX_RESULT)), {
      undo: { large: (value: unknown) => undone.push(value) },
    });
    const id = await shop.submit(1);
    await shop.ended(id, "failed");
    await shop.ended(`${id}:undo:jobs`, "succeeded");
    expect(undone).to.deep.equal([undefined]);
  });
});
