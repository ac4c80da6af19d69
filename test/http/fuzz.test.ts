import { expect } from "chai";
import { fuzz } from "../fuzz/run.ts";

/** The same requests in each run: what others may find is for the long form, `npm run fuzz`. */
const SEED = 20_261_121;

describe("any request", () => {
  for (const [kind, guarded, apart, requests, reached] of [
    ["an open server", false, false, 600, [200, 202, 400, 404, 405]],
    ["a server with keys, signed links and partitions", true, false, 400, [200, 400, 401, 403, 404, 405]],
    [
      "a process with 256 MB and a gateway to a hostile API, which it does not end",
      false,
      true,
      600,
      [200, 202, 400, 404],
    ],
  ] as const) {
    it(`gets an answer as documented from ${kind}: no other 5xx, no hang, no unhandled rejection`, async function () {
      this.timeout(90_000);
      const fuzzed = await fuzz({ requests, seed: SEED, guarded, apart });
      expect(fuzzed.requests).to.be.at.least(requests);
      // Many of them come further than the door.
      expect([...fuzzed.statuses.keys()]).to.include.members([...reached]);
    });
  }
});
