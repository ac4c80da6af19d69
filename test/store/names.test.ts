import { expect } from "chai";
import { PARTS } from "../../src/extras/extras.ts";
import { ANSWER_LETTERS, RATE_LETTERS, STATE_LETTERS, TASK_NOTICES } from "../../src/store/fields.ts";
import { CORE } from "../../src/store/library/core.ts";

/** Of a table of names, with those of the extras. */
const firsts = (table: string) => [CORE, ...PARTS].flatMap(({ tables }) => Object.values(tables?.[table] ?? {}));

describe("what is stored under a short name", () => {
  const TABLES: Readonly<Record<string, readonly unknown[]>> = {
    "a field of a task": firsts("F"),
    "a field of a queue": firsts("Q"),
    "a field of a group": firsts("G"),
    "a Redis key": firsts("P"),
    "a remembered answer": Object.values(ANSWER_LETTERS),
    "a rate": Object.values(RATE_LETTERS),
    "a state or notice": Object.values({ ...STATE_LETTERS, ...TASK_NOTICES }),
  };
  for (const [kind, names] of Object.entries(TABLES)) {
    it(`shares it with nothing else: ${kind}`, () => {
      expect(names.filter((name, n) => names.indexOf(name) !== n)).to.deep.equal([]);
    });
  }
});
