import { expect } from "chai";
import { ProblemError } from "../../src/errors.ts";
import { defineHandler, type Handler } from "../../src/handler/define.ts";
import { Keys } from "../../src/store/keys.ts";
import { connectOnce } from "../../src/store/servers/connect-once.ts";
import { storeUrl } from "../helpers/store/run-store.ts";
import { openWorkshop, type Workshop } from "../helpers/workshop.ts";

describe("a task with a large input", () => {
  let shop: Workshop;
  const inputs: number[] = [];
  beforeEach(async () => {
    inputs.length = 0;
    const measuring = defineHandler<string>({
      queue: "measuring",
      run: (text) => {
        inputs.push(text.length);
        return text.length;
      },
    });
    shop = await openWorkshop([measuring as Handler]);
  });
  afterEach(() => shop.close());

  it("gets all of it", async () => {
    await shop.worker();
    expect(await shop.answer(await shop.submit("x".repeat(900_000)))).to.equal(900_000);
  });

  it("is not run without it: it waits until it can be read, without using up an attempt", async () => {
    const { engine } = shop;
    const inputOf = engine.values.inputOf.bind(engine.values);
    let failures = 0;
    engine.values.inputOf = (task, queue) => {
      failures += 1;
      return failures === 1 ? Promise.reject(new ProblemError("store-unavailable")) : inputOf(task, queue);
    };
    await shop.worker();
    const id = await shop.submit("x".repeat(900_000));
    expect(await shop.answer(id)).to.equal(900_000);
    expect(inputs).to.deep.equal([900_000]);
    expect((await shop.look(id)).attempts).to.equal(1);
    expect(shop.log.map((line) => line.msg)).to.include("runner: could not read the input; the task is retried later");
  });

  it("fails for good if the store no longer has it", async () => {
    const id = await shop.submit("x".repeat(900_000));
    const store = await connectOnce(storeUrl());
    await store.del(new Keys(shop.prefix, 1).value("input", 0, id));
    store.disconnect();
    await shop.worker();
    const seen = await shop.ended(id);
    expect(seen).to.include({ state: "failed", attempts: 1 });
    expect(seen.errors[0]).to.equal("the input of the task is no longer in the store");
    expect(inputs).to.deep.equal([]);
  });
});
