import { expect } from "chai";
import { OtherPartitions } from "../../../src/engine/partitions/other-partitions.ts";
import { ProblemError } from "../../../src/errors.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { CountAnswer, Question, QueueSnapshot, Scripts, WorkerStart } from "../../../src/store/verbs/scripts.ts";

const start = (given: Partial<WorkerStart>): WorkerStart => ({
  ...{ elapsedMs: 0, declaredMs: null, meanMs: 1000, variance: 0, samples: 1, slots: 1 },
  ...given,
});
const snapshot = (queue: string, given: Partial<QueueSnapshot> = {}): QueueSnapshot => ({
  ...{ queue, waiting: 100, scheduled: 200, running: 300, paused: false, breakerOpen: false, workers: 1, slots: 4 },
  ...{ meanMs: null, variance: null, samples: 0, misses: [], slowMeanMs: null, slowMisses: [], agesMs: [] },
  ...given,
});
const answer = (given: Partial<CountAnswer> = {}): CountAnswer => ({
  ...{ before: [], waiting: 0, scheduled: 0, running: 0, breakerOpen: false, starting: null },
  ...given,
});

/** Three partitions that answer so; `asked` has each call. */
function partitions(answerOf: (partition: number, question: Question) => CountAnswer, count = 3) {
  const keys = new Keys("others:", count);
  const asked: string[] = [];
  const scripts: Partial<Scripts> = {
    count: async (tag, questions) => {
      const partition = keys.tags.indexOf(tag);
      const said = questions.map(
        ({ queue, places, equals }) => `${queue} [${places.text}]${equals ? " or equal" : ""}`,
      );
      asked.push(`${partition}: ${said.join(", ")}`);
      return questions.map((question) => answerOf(partition, question));
    },
  };
  return { others: new OtherPartitions(scripts as Scripts, keys), asked };
}

describe("the place of a task over all partitions", () => {
  it("counts what comes before it in each other partition; of equal scores, those of lower partitions come first", async () => {
    const { others, asked } = partitions((partition) => answer({ before: [partition + 1] }));
    const [place] = await others.widen(1, [{ index: 5, score: "7", snapshot: snapshot("jobs") }]);
    expect(place?.index).to.equal(5 + 1 + 3);
    expect(asked).to.deep.equal(["0: jobs [7] or equal", "2: jobs [7]"]);
    expect(await others.before(1, "jobs", "7")).to.equal(4);
  });

  it("is counted for each of several tasks of several queues, with one question for each queue", async () => {
    const { others, asked } = partitions((_, { queue }) => answer({ before: queue === "a" ? [10, 20] : [300] }));
    const [a, b] = [snapshot("a"), snapshot("b")];
    const places = await others.widen(0, [
      { index: 1, score: "7", snapshot: a },
      { index: 2, score: "9.5", snapshot: b },
      { index: null, score: "", snapshot: a },
      { index: 3, score: "8.5", snapshot: a },
      { index: null, score: "10", snapshot: b },
    ]);
    expect(places.map(({ index }) => index)).to.deep.equal([21, 602, null, 43, null]);
    expect(asked).to.deep.equal(["1: a [7 8.5], b [9.5 10]", "2: a [7 8.5], b [9.5 10]"]);
  });

  it("does not depend on the others for a task outside the line, but the figures of its queue do", async () => {
    const { others, asked } = partitions(() => answer({ running: 1 }));
    const [place] = await others.widen(0, [{ index: 0, score: "", snapshot: snapshot("jobs") }]);
    expect([place?.index, place?.snapshot.running]).to.deep.equal([0, 302]);
    expect(asked).to.deep.equal(["1: jobs []", "2: jobs []"]);
  });

  it("is unknown while a partition is unavailable, but for a task outside the line", async () => {
    const { others } = partitions((partition) => {
      if (partition === 2) throw new ProblemError("store-unavailable");
      return answer({ before: [1] });
    });
    const of = snapshot("jobs");
    const places = [
      { index: 4, score: "7", snapshot: of },
      { index: 0, score: "", snapshot: of },
    ];
    expect(await others.widen(0, places)).to.deep.equal([
      { index: null, snapshot: of },
      { index: 0, snapshot: of },
    ]);
    const code = await others.before(0, "jobs", "7").catch((error: ProblemError) => error.code);
    expect(code).to.equal("store-unavailable");
  });

  it("is not hidden by a mistake in this process", async () => {
    const { others } = partitions(() => {
      throw new TypeError("a mistake");
    });
    const place = { index: 4, score: "7", snapshot: snapshot("jobs") };
    const failure = await others.widen(0, [place]).catch((error: Error) => error.message);
    expect(failure).to.equal("a mistake");
  });

  it("is that in its partition if there is no other, of which nothing is asked", async () => {
    const { others, asked } = partitions(() => answer(), 1);
    const places = [{ index: 4, score: "7", snapshot: snapshot("jobs") }];
    expect(await others.widen(0, places)).to.deep.equal(places);
    expect(asked).to.deep.equal([]);
  });
});

describe("the figures of a queue over all partitions", () => {
  const widened = async (own: Partial<QueueSnapshot>, ...answers: readonly Partial<CountAnswer>[]) => {
    const { others } = partitions((partition) => answer(answers[partition - 1]));
    const [place] = await others.widen(0, [{ index: null, score: "", snapshot: snapshot("jobs", own) }]);
    return place?.snapshot ?? expect.fail("no place");
  };

  it("are the sums of its lines", async () => {
    const figures = await widened(
      {},
      { waiting: 1, scheduled: 2, running: 3 },
      { waiting: 10, scheduled: 20, running: 30 },
    );
    expect(figures).to.include({ waiting: 111, scheduled: 222, running: 333, slots: 4 });
  });

  it("have an open breaker if any partition knows of one", async () => {
    expect((await widened({})).breakerOpen).to.equal(false);
    expect((await widened({ breakerOpen: true })).breakerOpen).to.equal(true);
    expect((await widened({}, { breakerOpen: true }, {})).breakerOpen).to.equal(true);
    expect((await widened({}, {}, { breakerOpen: true })).breakerOpen).to.equal(true);
  });

  it("have the starts of workers of the partition that saw most, and the longest wait for one", async () => {
    const few = start({ samples: 1, elapsedMs: 9000 });
    const many = start({ samples: 5, elapsedMs: 10 });
    const both = { ...many, elapsedMs: 9000 };
    expect((await widened({})).starting).to.equal(null);
    expect((await widened({ starting: few })).starting).to.deep.equal(few);
    expect((await widened({}, { starting: few }, { starting: many })).starting).to.deep.equal(both);
    expect((await widened({ starting: many }, { starting: few })).starting).to.deep.equal(both);
  });
});
