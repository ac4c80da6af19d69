import { EventEmitter } from "node:events";
import { mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import type { Redis } from "ioredis";
import { createLog } from "../../../src/log.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { Scripts } from "../../../src/store/library/scripts.ts";
import type { Reservation } from "../../../src/store/line/reserve.ts";
import { openStandby, type Standby } from "../../../src/store/line/standby.ts";

const REQUEST: Reservation = {
  ...{ queue: "jobs", worker: "w", reservation: "r", count: 1, leaseMs: 60_000 },
  rate: undefined,
};
const INTERVAL_MS = 5000;

/** A connection that the store calls by this number. */
class PaperConnection extends EventEmitter {
  readonly id: number;
  readonly ended: number[] = [];
  isAway = false;
  closed = 0;

  constructor(id: number) {
    super();
    this.id = id;
  }

  async client(verb: string, ...words: unknown[]): Promise<number> {
    if (this.isAway) throw new Error("Connection is closed.");
    if (verb === "KILL") this.ended.push(Number(words[1]));
    return this.id;
  }

  async info(): Promise<string> {
    return "run_id:same\r\n";
  }

  disconnect(): void {
    this.closed += 1;
  }
}

describe("the connection on which requests wait, once it was given up", () => {
  let commands: PaperConnection;
  let opened: PaperConnection[];
  /** On which connections requests were sent. */
  let asked: (PaperConnection | undefined)[];
  let connecting: Promise<void> | undefined;
  let isAway: boolean;
  let standby: Standby;
  beforeEach(async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    commands = new PaperConnection(1);
    [opened, asked, connecting, isAway] = [[], [], undefined, false];
    const found = await openStandby("jobs", {
      ...{ commands: commands as unknown as Redis, keys: new Keys("ph", 1), log: createLog("silent") },
      connect: async () => {
        const own = new PaperConnection(100 + opened.length);
        opened.push(own);
        await connecting;
        if (isAway) throw new Error("Connection is closed.");
        return own as unknown as Redis;
      },
      reserveOn: (redis) =>
        (async () => {
          asked.push(redis as unknown as PaperConnection);
        }) as unknown as Scripts["reserve"],
    });
    standby = found ?? expect.fail("it was not opened");
  });
  afterEach(() => {
    standby.close();
    mock.timers.reset();
  });
  /** The next try. */
  const tick = async () => {
    mock.timers.tick(INTERVAL_MS);
    for (let turns = 0; turns < 5; turns += 1) await turn();
  };

  it("is replaced by a new one, which is tried every five seconds until it can be used", async () => {
    await standby.abandon();
    expect([standby.usable, opened[0]?.closed]).to.deep.equal([false, 1]);
    isAway = true;
    await tick();
    expect([standby.usable, opened.length]).to.deep.equal([false, 2]);
    isAway = false;
    await tick();
    expect([standby.usable, opened.length]).to.deep.equal([true, 3]);
    await standby.reserve(REQUEST, 0);
    expect(asked).to.deep.equal([opened[2]]);
    await tick();
    expect(opened).to.have.lengthOf(3);
  });

  it("is not used again although it comes back", async () => {
    await standby.abandon();
    opened[0]?.emit("ready");
    await turn();
    await turn();
    expect(standby.usable).to.equal(false);
  });

  it("has no effect on the new one, whatever becomes of it", async () => {
    await standby.abandon();
    await tick();
    opened[0]?.emit("close");
    expect(standby.usable).to.equal(true);
    opened[0]?.emit("ready");
    await turn();
    await turn();
    await standby.abandon();
    expect(commands.ended).to.deep.equal([100, 101]);
  });

  it("is ended under its last known number if it came back without telling a new one", async () => {
    const [own] = opened;
    if (own) own.isAway = true;
    own?.emit("close");
    own?.emit("ready");
    await turn();
    await turn();
    expect(standby.usable).to.equal(false);
    await standby.abandon();
    expect(commands.ended).to.deep.equal([100]);
  });

  it("is not replaced once requests are over, not even by one that was being opened", async () => {
    await standby.abandon();
    let connected: () => void = () => undefined;
    connecting = new Promise((resolve) => {
      connected = resolve;
    });
    await tick();
    standby.close();
    connected();
    await tick();
    expect(opened).to.have.lengthOf(2);
    expect([standby.usable, opened[1]?.closed]).to.deep.equal([false, 1]);
  });
});
