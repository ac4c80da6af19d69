import { storeUrl } from "../../helpers/store/run-store.ts";
import { EXAMPLES } from "./examples.ts";
import { openExamples } from "./run.ts";

describe("an engine that is compared with a plain model", () => {
  let examples: Awaited<ReturnType<typeof openExamples>>;
  before(async () => {
    examples = await openExamples(storeUrl());
  });
  after(() => examples.close());

  for (const { what, calls, ...kind } of EXAMPLES) it(what, () => examples.play(calls, kind));
});
