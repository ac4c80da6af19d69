import { expect } from "chai";
import type { GroupInspection } from "../../../src/engine/groups/group-inspection.ts";
import { GroupWatchers } from "../../../src/engine/watching/group-watchers.ts";
import { eventually } from "../../shared/eventually.ts";

type Seen = GroupInspection | null;

describe("watching groups", () => {
  let reads: string[];
  let errors: unknown[];
  /** What a read of a group finds; an error that it throws. */
  let stored: Map<string, Seen | Error>;
  let watchers: GroupWatchers;
  beforeEach(() => {
    reads = [];
    errors = [];
    stored = new Map();
    const inspect = async (id: string) => {
      reads.push(id);
      const seen = stored.get(id) ?? null;
      if (seen instanceof Error) throw seen;
      return seen;
    };
    const engine = { groups: { inspect } } as unknown as ConstructorParameters<typeof GroupWatchers>[0];
    watchers = new GroupWatchers(engine, (error) => errors.push(error));
  });
  const at = (percent: number) => ({ percent }) as GroupInspection;

  it("reads each group once for all its watchers, again and again, until nobody watches it", async () => {
    stored.set("a", at(10)).set("b", at(20));
    const told: Readonly<Record<string, Seen[]>> = { first: [], second: [], other: [] };
    const first = await watchers.watch("a", (seen) => told.first?.push(seen));
    const second = await watchers.watch("a", (seen) => told.second?.push(seen));
    const other = await watchers.watch("b", (seen) => told.other?.push(seen));
    expect([first.first, second.first, other.first].map((seen) => seen?.percent)).to.deep.equal([10, 10, 20]);
    expect(watchers.size).to.equal(2);
    stored.set("a", at(30)).delete("b");
    reads.length = 0;
    await eventually(() => told.other?.at(-1) === null);
    expect(told.first?.at(-1)?.percent).to.equal(30);
    expect(told.second).to.deep.equal(told.first?.slice(-(told.second?.length ?? 0)));
    expect(reads.filter((id) => id === "a").length).to.equal(reads.filter((id) => id === "b").length);
    first.stop();
    other.stop();
    expect(watchers.size).to.equal(1);
    const before = told.first?.length;
    reads.length = 0;
    await eventually(() => reads.length > 0);
    expect(reads).to.deep.equal(["a"]);
    expect(told.first).to.have.length(before ?? -1);
    second.stop();
    second.stop();
    expect(watchers.size).to.equal(0);
  });

  it("reports a read that failed, and goes on", async () => {
    stored.set("a", at(10));
    let told = 0;
    const { stop } = await watchers.watch("a", () => {
      told += 1;
    });
    stored.set("a", new Error("away"));
    await eventually(() => errors.length > 0);
    expect(String(errors[0])).to.equal("Error: away");
    stored.set("a", at(20));
    const before = told;
    await eventually(() => told > before);
    stop();
  });

  it("does not begin with a group that cannot be read", async () => {
    stored.set("a", new Error("away"));
    const failed = await watchers.watch("a", () => undefined).catch((error: Error) => error.message);
    expect([failed, watchers.size]).to.deep.equal(["away", 0]);
  });
});
