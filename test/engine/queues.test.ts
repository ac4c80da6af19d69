import { expect } from "chai";
import { Queues } from "../../src/engine/queues.ts";
import type { QueueSettings } from "../../src/engine/settings.ts";
import { Scans } from "../../src/engine/watch/scans.ts";
import { Keys } from "../../src/store/keys.ts";
import type { Scripts } from "../../src/store/library/scripts.ts";
import type { QueueRow } from "../../src/store/line/queue.ts";

const settings = (queue: string) => ({ queue, attempts: queue === "mine" ? 1 : 2 }) as unknown as QueueSettings;
const row = (queue: string, workers = 0) => ({ snapshot: { queue, workers } }) as unknown as QueueRow;

describe("the queues that a process knows", () => {
  const keys = new Keys("queues:", 3);
  const paused: string[] = [];
  const scripts = {
    pause: async (tag: string, of: { queue: string; paused: boolean }) => {
      paused.push(`${keys.tags.indexOf(tag)} ${of.queue} ${of.paused}`);
    },
  } as unknown as Scripts;
  const others = new Map([
    ["stray", 60_001],
    ["fresh", 60_000],
  ]);
  const own = new Map([["mine", settings("mine")]]);
  const queues = new Queues(scripts, keys, own, settings("unknown"), () => others, new Scans());

  it("are its own first, then those of others by name", () => {
    expect(queues.names).to.deep.equal(["mine", "fresh", "stray"]);
    expect(["mine", "fresh", "nowhere"].map((queue) => queues.has(queue))).to.deep.equal([true, true, false]);
  });

  it("have the settings of their handlers, or such as suit any queue", () => {
    expect(queues.settings("mine")).to.include({ queue: "mine", attempts: 1 });
    expect(queues.settings("stray")).to.include({ queue: "stray", attempts: 2 });
  });

  it("are orphaned if no process has named them for a minute, and no worker takes tasks of them", () => {
    const rows = [row("stray"), row("stray", 1), row("fresh"), row("mine")];
    expect(rows.map((one) => queues.isOrphaned(one))).to.deep.equal([true, false, false, false]);
  });

  it("are paused in their partitions", async () => {
    await queues.pause("mine", true);
    expect(paused).to.deep.equal([`${keys.partitionOfQueue("mine")} mine true`]);
  });
});
