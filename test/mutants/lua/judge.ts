import { type Mutant, mutated } from "./files.ts";
import type { Reaches, Tests } from "./tests.ts";

/** The verdict on a mutant. */
export interface Verdict {
  /** The test that fails with it, and passes without. */
  readonly killedBy?: string;
  /** How long that test usually takes. */
  readonly ms?: number;
  readonly error?: string;
  /** None of its tests exists. */
  readonly missing?: true;
  /** No test reaches its statement. */
  readonly unreached?: true;
}

/** The tests that have killed mutants of a file, since they are likely to kill others. */
export type Kills = Map<string, Map<string, number>>;

/** How many tests are run first, and how many next. */
const FIRST = 4;
const NEXT = 16;
/**
 * How long the tests of a mutant may take if all pass: ms, and as a part of the time of all tests, which take longer on a busy machine. Those
 * with the most kills for their time are chosen.
 */
const BUDGET_MS = 15_000;
const BUDGET_PART = 0.1;
/** After how many requests a process that has run broken code is replaced. */
const RUNS_A_PROCESS = 40;
/** How often tests are run on a mutant, if some of them fail without it. */
const ROUNDS = 6;
/** The time allowed beyond what the tests usually take, in case something hangs. */
const LIMIT_MS = 20_000;

/** Judges one mutant after the other. */
export class Judge {
  readonly #tests: Tests;
  readonly #files: ReadonlyMap<string, string>;
  readonly #reaches: Reaches;
  readonly #reachedBy = new Map<number, string[]>();
  readonly #kills: Kills;
  /** Tests that fail when they run without those before them. */
  readonly #unfit = new Set<string>();
  readonly #budgetMs: number;
  #runs = 0;

  constructor(tests: Tests, files: ReadonlyMap<string, string>, reaches: Reaches, kills: Kills = new Map()) {
    this.#tests = tests;
    this.#files = files;
    this.#reaches = reaches;
    this.#kills = kills;
    const allMs = Object.values(reaches).reduce((sum, { ms }) => sum + ms, 0);
    this.#budgetMs = Math.max(BUDGET_MS, BUDGET_PART * allMs);
    for (const [test, { statements }] of Object.entries(reaches))
      for (const statement of statements)
        this.#reachedBy.set(statement, [...(this.#reachedBy.get(statement) ?? []), test]);
  }

  /**
   * @param statement the number of its statement
   * @param before a test that has killed it before
   */
  async judge(mutant: Mutant, statement: number | undefined, before?: string): Promise<Verdict> {
    const reaching = statement === undefined ? [] : (this.#reachedBy.get(statement) ?? []);
    if (reaching.length === 0) return { unreached: true };
    if (++this.#runs % RUNS_A_PROCESS === 0) this.#tests.stop();
    for (const group of this.#groups(mutant.file, reaching, before)) {
      const verdict = await this.tryOn(mutant, group);
      if (verdict) {
        if (verdict.killedBy !== undefined) this.#noteKill(mutant.file, verdict.killedBy);
        return verdict;
      }
    }
    return {};
  }

  /** Runs some tests on a mutant. Returns undefined if it survives them. */
  async tryOn(mutant: Mutant, group: Readonly<Record<string, number>>): Promise<Verdict | undefined> {
    const source = this.#files.get(mutant.file) ?? "";
    const sources = [[source, mutated(source, mutant)]] as const;
    const usualMs = Object.values(group).reduce((sum, ms) => sum + ms, 0);
    const limitMs = LIMIT_MS + 5 * usualMs;
    const suspects = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const tests = Object.fromEntries(Object.entries(group).filter(([test]) => !this.#unfit.has(test)));
      if (Object.keys(tests).length === 0) return undefined;
      const answer = await this.#tests.ask({ sources, tests }, limitMs);
      if (answer?.missing) return { missing: true };
      const [failed] = answer?.failed ?? [];
      if (answer && failed === undefined) return undefined;
      // What a test still awaits when its time is over fails later, and would fail the next run in its process.
      if (answer?.error?.startsWith("Timeout of")) this.#tests.stop();
      // Without the mutant they must pass; otherwise leftovers of an earlier mutant made them fail. The same if a test that has ended fails.
      const again = failed !== undefined && failed in tests ? { [failed]: tests[failed] ?? 0 } : tests;
      const control = await this.#tests.ask({ sources: [], tests: again }, limitMs);
      const isLate = answer?.error?.includes("done() called multiple times");
      if (control && !control.failed && !isLate) {
        const error = answer ? answer.error : "no test ended";
        const killedBy = failed ?? Object.keys(tests)[0] ?? "";
        return { killedBy, ms: tests[killedBy] ?? 0, ...(error !== undefined && { error }) };
      }
      this.#tests.stop();
      // A test that fails twice without the mutant is left out, and the others are tried.
      for (const test of Object.keys(again)) {
        if (suspects.has(test)) this.#unfit.add(test);
        suspects.add(test);
      }
    }
    return undefined;
  }

  /** The tests that reach a statement, in the order in which they are run. */
  *#groups(file: string, reaching: readonly string[], before: string | undefined): Iterable<Record<string, number>> {
    const kills = this.#kills.get(file) ?? new Map<string, number>();
    const msOf = (test: string) => this.#reaches[test]?.ms ?? 0;
    const worth = (test: string) => (test === before ? 1 : (0.1 + (kills.get(test) ?? 0)) / (300 + msOf(test)));
    const ordered = reaching.toSorted((a, b) => worth(b) - worth(a));
    let spentMs = 0;
    const within = ordered.filter((test) => {
      if (spentMs + msOf(test) > this.#budgetMs) return false;
      spentMs += msOf(test);
      return true;
    });
    const isKnown = before !== undefined && within[0] === before;
    const sizes = [isKnown ? 1 : FIRST, NEXT, within.length];
    for (const size of sizes) {
      const group = within.splice(0, size);
      if (group.length > 0) yield Object.fromEntries(group.map((test) => [test, msOf(test)]));
    }
  }

  #noteKill(file: string, test: string): void {
    const kills = this.#kills.get(file) ?? new Map<string, number>();
    kills.set(test, (kills.get(test) ?? 0) + 1);
    this.#kills.set(file, kills);
  }
}
