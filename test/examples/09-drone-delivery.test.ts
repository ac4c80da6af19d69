import { expect } from "chai";
import { runDemo } from "../../examples/09-drone-delivery/demo.ts";
import { createLog } from "../../src/log.ts";
import { findServerBinary } from "../../src/store/servers/native/server-binary.ts";
import { builtCommand } from "../helpers/build.ts";

describe("examples/09-drone-delivery", () => {
  it("schedules each of a thousand deliveries once or undoes all of it, while services fail and workers are killed", async function () {
    this.timeout(300_000);
    if ((await findServerBinary(createLog("silent"))).binary === undefined) return this.skip();
    const faults = { transient: 0.05, lasting: 0.01 };
    const result = await runDemo({ deliveries: 1000, workers: 2, faults, kills: 4, command: builtCommand() });
    expect(result.broken).to.deep.equal([]);
    expect(result.scheduled + result.undone).to.equal(1000);
    expect(result.undone).to.be.greaterThan(0);
    expect(result.kills).to.be.greaterThan(0);
  });
});
