import type { Mutant } from "./files.ts";

/** A mutant with which everything behaves as before, so that no test can tell. */
interface Equivalent {
  readonly file: string;
  /** The line, and what becomes of it, as a report shows them. */
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

/** All of them. One that no longer is a mutant is reported. */
const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: "lua/completion.lua",
    before: "if run and string.find(run, fence .. ' 0 ', 1, true) == 1 then",
    after: "if false then",
    reason: "The quick way to what the other branch reads of the same text.",
  },
  {
    file: "lua/service.lua",
    before: "if weight < C.minWeight then weight = C.minWeight end",
    after: "if weight <= C.minWeight then weight = C.minWeight end",
    reason: "An equal weight is replaced by itself.",
  },
  {
    file: "verbs/count.lua",
    before: "if line.unique == nil then line.unique = redis.call('EXISTS', K.shares(call, line.queue)) == 0 end",
    after: "if false then line.unique = redis.call('EXISTS', K.shares(call, line.queue)) == 0 end",
    reason: "Each number is then counted on its own: slower, with the same answer.",
  },
  {
    file: "verbs/submit.lua",
    before: "if redis.call('EXISTS', unpack(keys)) > 0 then return false end",
    after: "if redis.call('EXISTS', unpack(keys)) >= 0 then return false end",
    reason: "Each task is then submitted on its own: slower, with the same outcome.",
  },
  {
    file: "verbs/submit.lua",
    before:
      "state.index = state.waiting > 0 and redis.call('ZCOUNT', line, '-inf', '(' .. whole((class + 1) * C.classSpan)) or 0",
    after:
      "state.index = state.waiting >= 0 and redis.call('ZCOUNT', line, '-inf', '(' .. whole((class + 1) * C.classSpan)) or 0",
    reason: "ZCOUNT of an empty line is 0.",
  },
  {
    file: "verbs/tick.lua",
    before: "if first > call.now then return true end",
    after: "if false then return true end",
    reason: "Nothing is due then, so the loop below has no entries.",
  },
  {
    file: "verbs/worker.lua",
    before: "if until_when <= latest then return until_when end",
    after: "if until_when < latest then return until_when end",
    reason: "If both are equal, no entry is later than `latest`, which is returned.",
  },
];

const nameOf = ({ file, before, after }: Pick<Mutant, "file" | "before" | "after">): string =>
  `${file} ${before} → ${after}`;

/** The mutants that a test can tell from the original, and the entries above to which no mutant belongs. */
export function withoutEquivalents(mutants: readonly Mutant[]): { mutants: Mutant[]; unused: Equivalent[] } {
  const named = new Set(EQUIVALENTS.map(nameOf));
  const all = new Set(mutants.map(nameOf));
  return {
    mutants: mutants.filter((mutant) => !named.has(nameOf(mutant))),
    unused: EQUIVALENTS.filter((entry) => !all.has(nameOf(entry))),
  };
}
