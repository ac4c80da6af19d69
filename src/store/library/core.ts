import { SHARED } from "../constants.ts";
import {
  ANSWER_LETTERS,
  ATTEMPT_FIELDS,
  firstOf,
  GROUP_FIELDS,
  QUEUE_FIELDS,
  RATE_LETTERS,
  STATE_LETTERS,
  TASK_FIELDS,
  TASK_NOTICES,
} from "../fields.ts";
import { START } from "../keys.ts";
import type { LibraryPart } from "./assemble.ts";
import * as VERBS from "./verbs.ts";

/** Its Lua files, each after those whose tables it uses while it is loaded. */
const FILES = {
  library: ["number call"],
  task: [
    "run input result notices attempt deadlines follow settle actions inspect",
    "submission submit complete fail lease",
  ],
  line: ["rate worker snapshot keyed fair line total turns start reservation history page queue reserve"],
  group: ["group"],
  ops: ["deployment event key-use pointer tick verify"],
};

/** What every server has: the tasks of queues. */
export const CORE: LibraryPart = {
  name: "core",
  folder: new URL("../", import.meta.url),
  files: Object.entries(FILES).flatMap(([folder, lines]) =>
    lines.flatMap((line) => line.split(" ").map((file) => `${folder}/${file}`)),
  ),
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
