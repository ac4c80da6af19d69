import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { createLog } from "../../../src/log.ts";
import { findServerBinary } from "../../../src/store/servers/native/server-binary.ts";
import { storeKind } from "../../helpers/store/run-store.ts";
import { eventually } from "../../shared/eventually.ts";
import { Caller } from "./caller.ts";
import { openPlace, type Place } from "./place.ts";
import { Resource } from "./resource.ts";

/** The shortest that a submission may have. */
const PRESENCE_MS = 5000;
const SHORT = `?presence=${PRESENCE_MS / 1000}`;
const HOUR_MS = 3_600_000;
/** A presence that no fault of these tests outlasts. */
const LONG = "?presence=60";

describe("turns under faults", function () {
  this.timeout(90_000);
  let place: Place;
  let resource: Resource;
  const callers: Caller[] = [];

  before(async function () {
    if (storeKind() === "embedded" || (await findServerBinary(createLog("silent"))).binary === undefined) this.skip();
  });
  beforeEach(async () => {
    resource = new Resource();
    place = await openPlace();
  });
  afterEach(async () => {
    await Promise.all(callers.splice(0).map((caller) => caller.stop()));
    await place?.close();
  });

  const submit = async (search: string) => {
    const caller = await Caller.submit(place.send, resource, search);
    callers.push(caller);
    return caller;
  };
  /** One who holds the turn, and two in line. */
  const line = async (search: string) => {
    const three = [await submit(search), await submit(search), await submit(search)] as const;
    await three[0].until("running");
    await expectLine(...three);
    return three;
  };
  /** The holder has the only turn it ever had, and the others have not been called and are at their places. */
  const expectLine = async (holder: Caller, ...waiting: Caller[]) => {
    expect(await holder.look()).to.include({ state: "running" });
    for (const [index, caller] of waiting.entries()) {
      expect(await caller.look()).to.include({ state: "waiting", index });
      expect(caller.fences.size).to.equal(0);
    }
    expect(holder.fences.size).to.equal(1);
  };
  /** All are called, each once, when the one before is done. */
  const expectEachInTurn = async (...all: Caller[]) => {
    for (const caller of all) {
      await caller.until("running");
      expect((await caller.done()).json).to.include({ state: "succeeded" });
    }
    expect(all.map(({ fences }) => fences.size)).to.deep.equal(all.map(() => 1));
    const fences = all.flatMap((caller) => [...caller.fences]);
    expect(fences).to.deep.equal([...fences].sort((a, b) => a - b));
    expect([resource.most, resource.refused]).to.deep.equal([1, []]);
  };

  it("end with the presence of a holder that is killed, and the next one is called: no two at once", async () => {
    const served = await resource.serve();
    const args = [path.join(import.meta.dirname, "holder.mjs"), place.urls[0] ?? "", SHORT, served.url, "holder"];
    const holder = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    try {
      await eventually(() => resource.uses.length > 3);
      const next = await submit(SHORT);
      const gone = once(holder, "exit");
      holder.kill("SIGKILL");
      await gone;
      const last = resource.uses.at(-1);
      resource.left("holder");
      expect((await next.look()).state).to.equal("waiting");
      const { turn } = await next.until("running");
      expect(Date.parse(turn.since) - (last?.atMs ?? 0)).to.be.within(PRESENCE_MS - 500, PRESENCE_MS + 3000);
      expect(resource.use("holder", last?.fence ?? 0), "the fence of the first turn").to.equal(false);
      expect((await next.done()).status).to.equal(200);
      expect(resource.most).to.equal(1);
    } finally {
      holder.kill("SIGKILL");
      served.close();
    }
  });

  it("go on when the server is killed that called them", async () => {
    const [first, second, third] = await line(LONG);
    await first.done();
    // The script that ended the turn before has called the next one; this server sent it.
    await place.kill(0);
    await second.until("running");
    await expectLine(second, third);
    await place.start(0);
    await expectLine(second, third);
    await expectEachInTurn(second, third);
  });

  it("go on when all servers are killed and started again", async () => {
    const all = await line(LONG);
    await place.kill(0, 1);
    await Promise.all([place.start(0), place.start(1)]);
    await expectLine(...all);
    await expectEachInTurn(...all);
  });

  it("go on when Redis is killed and started again", async () => {
    const all = await line(LONG);
    await place.redis.stop("SIGKILL");
    await place.redis.restart();
    await expectLine(...all);
    await expectEachInTurn(...all);
  });

  it("and places are kept for one more presence when everything was away for longer than that", async () => {
    const [holder, second, third] = await line(SHORT);
    await place.kill(0, 1);
    await place.redis.stop("SIGKILL");
    // The time that passes is what this is about.
    await delay(PRESENCE_MS + 1500);
    await place.redis.restart();
    await Promise.all([place.start(0), place.start(1)]);
    await expectLine(holder, second, third);
    await expectEachInTurn(holder, second, third);
  });

  it("of those who do not come back then end after that presence, and not before", async () => {
    const [holder, second, third] = await line(SHORT);
    await Promise.all([holder.stop(), second.stop(), third.stop()]);
    await place.kill(0, 1);
    await place.redis.stop("SIGKILL");
    await delay(PRESENCE_MS + 1500);
    await place.redis.restart();
    const returnedMs = Date.now();
    await place.start(0);
    third.resume();
    const { turn } = await third.until("running");
    expect(Date.parse(turn.since) - returnedMs).to.be.within(PRESENCE_MS, PRESENCE_MS + 5000);
    expect(await holder.look()).to.include({ state: "canceled" });
    expect((await holder.done()).json).to.include({ status: 409, state: "canceled" });
    expect(await second.look()).to.include({ state: "canceled" });
    expect(resource.use("holder", Math.min(...holder.fences)), "the fence of the lost turn").to.equal(false);
  });

  it("know only the clock of the store: neither callers nor servers that are an hour off change anything", async () => {
    const wrongClock = new URL("../chaos/wrong-clock.mjs", import.meta.url).href;
    await place.kill(0, 1);
    await place.start(1, { NODE_OPTIONS: `--import=${wrongClock}`, CLOCK_AHEAD_MS: String(HOUR_MS) });
    const take = async (offMs: number) => {
      const headers = { Date: new Date(Date.now() + offMs).toUTCString() };
      const caller = await Caller.submit(place.send, resource, SHORT, headers);
      callers.push(caller);
      return caller;
    };
    const [first, second] = [await take(-HOUR_MS), await take(HOUR_MS)];
    const { turn } = await first.until("running");
    expect(Date.parse(turn.since) - Date.now()).to.be.within(-5000, 1000);
    expect(Date.parse(turn.until) - Date.parse(turn.since)).to.be.within(PRESENCE_MS, PRESENCE_MS + 1000);
    await first.stop();
    const stoppedMs = Date.now();
    const called = (await second.until("running")).turn;
    expect(Date.parse(called.since) - stoppedMs).to.be.within(PRESENCE_MS - 1000, PRESENCE_MS + 3000);
    expect(called.fence).to.be.above(turn.fence);
    expect((await second.done()).status).to.equal(200);
  });
});
