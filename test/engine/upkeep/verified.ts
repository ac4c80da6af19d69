import { verify } from "../../../src/engine/upkeep/verify.ts";
import { openEngine, type TestEngine } from "../../helpers/engine.ts";

/** Opens engines for the tests of a suite, closes them after each test, and verifies their stores. */
export function verifiedEngines() {
  const opened: TestEngine[] = [];
  afterEach(async () => {
    for (const engine of opened.splice(0)) await engine.close();
  });
  return {
    open: async (options: Parameters<typeof openEngine>[0]): Promise<TestEngine> => {
      const engine = await openEngine(options);
      opened.push(engine);
      return engine;
    },
    /** How many entries disagree. */
    found: async (t: TestEngine, heal: boolean) => (await verify(t.redis, t.scripts, t.keys, { heal })).disagreeing,
  };
}
