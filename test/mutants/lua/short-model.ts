import { holdAgainstModel } from "../../engine/model/run.ts";
import { storeUrl } from "../../helpers/store/run-store.ts";

/** A seed, so that a mutant meets the same calls each time; long enough for what test/engine/model finds in its first runs. */
const RUNS = { runs: 10, steps: 40, seed: 7, shrink: false };

describe("the engine, compared with a plain model in a short run", () => {
  for (const fair of [false, true])
    for (const keyed of [false, true])
      it(`keeps every promise${fair ? " in fair lines" : ""}${keyed ? " by keys" : ""}`, async () => {
        await holdAgainstModel(storeUrl(), { ...RUNS, fair, keyed });
      });
});
