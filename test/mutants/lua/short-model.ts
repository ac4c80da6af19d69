import { holdAgainstModel } from "../../engine/model/run.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";

/** Fixed seeds, so that each mutant gets the same calls; the first few seeds find most mutants. */
const RUNS = [
  { runs: 10, steps: 40, seed: 7, shrink: false },
  { runs: 20, steps: 40, seed: 8, shrink: false },
] as const;

describe("the engine, compared with a plain model in a short run", () => {
  for (const runs of RUNS)
    for (const fair of [false, true])
      for (const [of, lines] of [
        ["", {}],
        [" by keys", { keyed: true }],
        [" with limits", { limited: true }],
      ] as const)
        it(`keeps every promise${fair ? " in fair lines" : ""}${of}, seed ${runs.seed}`, async () => {
          await holdAgainstModel(storeUrl(), { ...runs, fair, ...lines });
        });
});
