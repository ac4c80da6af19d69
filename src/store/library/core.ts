import { SHARED } from "../constants.ts";
import { ATTEMPT_FIELDS, firstOf, GROUP_FIELDS, QUEUE_FIELDS, TASK_FIELDS } from "../fields.ts";
import { START } from "../keys.ts";
import { ANSWER_LETTERS, RATE_LETTERS, STATE_LETTERS, TASK_NOTICES } from "../letters.ts";
import * as VERBS from "../verbs/verbs.ts";
import type { LibraryPart } from "./part.ts";

/** The files of `store/lua`, whose tables others use. */
const SHARED_FILES = [
  "number answers call run input result past notices rate service warmup snapshot keyed fair line",
  "due follow group settle completion reservation allowed filter inspection grace submission",
].flatMap((line) => line.split(" "));

/** The files of `store/verbs`. */
const NOUNS = [
  "again attempt-log attend cancel complete dead deployment details event fail history inspect lease move output page",
  "pointer probe queue register reserve step submit tick update verify worker",
].flatMap((line) => line.split(" "));

/** What every server has: the tasks of queues. */
export const CORE: LibraryPart = {
  name: "core",
  folder: new URL("../", import.meta.url),
  files: [...SHARED_FILES.map((file) => `lua/${file}`), ...NOUNS.map((file) => `verbs/${file}`)],
  verbs: VERBS,
  tables: {
    P: START,
    F: firstOf(TASK_FIELDS),
    T: firstOf(ATTEMPT_FIELDS),
    Q: firstOf(QUEUE_FIELDS),
    G: firstOf(GROUP_FIELDS),
    S: STATE_LETTERS,
    N: TASK_NOTICES,
    A: ANSWER_LETTERS,
    R: RATE_LETTERS,
    C: SHARED,
  },
};
