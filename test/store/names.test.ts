import { expect } from "chai";
import { GROUP_FIELDS, QUEUE_FIELDS, TASK_FIELDS } from "../../src/store/fields.ts";
import { KEYS } from "../../src/store/keys.ts";
import { ANSWER_LETTERS, RATE_LETTERS, STATE_LETTERS, TASK_NOTICES } from "../../src/store/letters.ts";

const firsts = (table: Readonly<Record<string, readonly string[]>>) => Object.values(table).map(([short]) => short);

describe("what is stored under a short name", () => {
  const TABLES: Readonly<Record<string, readonly unknown[]>> = {
    "a field of a task": firsts(TASK_FIELDS),
    "a field of a queue": firsts(QUEUE_FIELDS),
    "a field of a group": firsts(GROUP_FIELDS),
    "a Redis key": firsts(KEYS),
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
