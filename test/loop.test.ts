import { expect } from "chai";
import { Loop } from "../src/loop.ts";

/** So long that no second turn comes by itself within a test. */
const NEVER_MS = 1_000_000;

/** A tick whose every turn the test sees begin and lets end. */
class Turns {
  begun = 0;
  underWay = 0;
  max = 0;
  readonly errors: unknown[] = [];
  readonly loop: Loop;
  #settle: ((end: () => Promise<number | undefined>) => void) | undefined;
  #waiting: (() => void) | undefined;

  constructor(intervalMs = NEVER_MS) {
    this.loop = new Loop({
      intervalMs,
      onError: (error) => this.errors.push(error),
      tick: async () => {
        this.begun += 1;
        this.underWay += 1;
        this.max = Math.max(this.max, this.underWay);
        const ended = new Promise<() => Promise<number | undefined>>((resolve) => {
          this.#settle = resolve;
        });
        this.#waiting?.();
        const end = await ended;
        this.underWay -= 1;
        return await end();
      },
    });
  }

  /** Resolves when turn number `count` has begun. */
  async reaches(count: number): Promise<void> {
    while (this.begun < count) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  /** Ends the turn that is under way; it returns `nextMs`. */
  end(nextMs?: number): void {
    this.#settle?.(async () => nextMs);
  }

  fail(error: unknown): void {
    this.#settle?.(async () => {
      throw error;
    });
  }
}

/** Lets everything happen that needs no time. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a loop", () => {
  it("turns at once when it is started, and only once however often it is started", async () => {
    const turns = new Turns();
    turns.loop.start();
    turns.loop.start();
    await turns.reaches(1);
    await settled();
    expect(turns.begun).to.equal(1);
    turns.end();
    await turns.loop.stop();
  });

  it("takes the next turn sooner when the last one asks for it", async () => {
    const turns = new Turns();
    turns.loop.start();
    await turns.reaches(1);
    turns.end(0);
    await turns.reaches(2);
    turns.end();
    await turns.loop.stop();
  });

  it("never waits longer than usual, whatever a turn asks for", async () => {
    const turns = new Turns(1);
    turns.loop.start();
    await turns.reaches(1);
    turns.end(NEVER_MS);
    await turns.reaches(2);
    turns.end();
    await turns.loop.stop();
  });

  it("is woken from its wait", async () => {
    const turns = new Turns();
    turns.loop.start();
    await turns.reaches(1);
    turns.end();
    await settled();
    turns.loop.wake();
    await turns.reaches(2);
    turns.end();
    await turns.loop.stop();
    expect(turns.max).to.equal(1);
  });

  it("is woken in a while, unless the next turn comes sooner", async () => {
    const turns = new Turns();
    turns.loop.start();
    await turns.reaches(1);
    turns.end();
    await settled();
    turns.loop.wakeIn(NEVER_MS);
    turns.loop.wakeIn(1);
    turns.loop.wakeIn(NEVER_MS / 2);
    await turns.reaches(2);
    // During a turn too, which may have looked before.
    turns.loop.wakeIn(1);
    await settled();
    expect(turns.begun).to.equal(2);
    turns.end();
    await turns.reaches(3);
    turns.end();
    await turns.loop.stop();
    expect(turns.max).to.equal(1);
  });

  it("woken several times during a turn takes exactly one more directly after it", async () => {
    const turns = new Turns();
    turns.loop.start();
    await turns.reaches(1);
    turns.loop.wake();
    turns.loop.wake();
    await settled();
    expect(turns.begun).to.equal(1);
    turns.end();
    await turns.reaches(2);
    turns.end();
    await settled();
    expect(turns.begun).to.equal(2);
    await turns.loop.stop();
  });

  it("woken by its own turn does not start a second one within it", async () => {
    let begun = 0;
    let max = 0;
    let underWay = 0;
    const loop: Loop = new Loop({
      intervalMs: NEVER_MS,
      onError: () => {},
      async tick() {
        underWay += 1;
        max = Math.max(max, underWay);
        begun += 1;
        if (begun < 3) loop.wake();
        await settled();
        underWay -= 1;
        return undefined;
      },
    });
    loop.start();
    while (begun < 3) await settled();
    await loop.stop();
    expect({ begun, max }).to.deep.equal({ begun: 3, max: 1 });
  });

  it("goes on after a turn that threw, and tells", async () => {
    const turns = new Turns();
    const error = new Error("Redis is away");
    turns.loop.start();
    await turns.reaches(1);
    turns.loop.wake();
    turns.fail(error);
    await turns.reaches(2);
    expect(turns.errors).to.deep.equal([error]);
    turns.end();
    await turns.loop.stop();
  });

  it("goes on after a tick that throws before its first await", async () => {
    const errors: unknown[] = [];
    const told = new Promise<void>((resolve) => {
      const loop = new Loop({
        intervalMs: 1,
        tick() {
          throw new Error("at once");
        },
        onError(error) {
          if (errors.push(error) === 2) resolve(loop.stop());
        },
      });
      loop.start();
    });
    await told;
    expect(errors.map(String)).to.deep.equal(["Error: at once", "Error: at once"]);
  });

  describe("that is stopped", () => {
    it("has stopped only when its turn is done", async () => {
      const turns = new Turns();
      turns.loop.start();
      await turns.reaches(1);
      let stopped = false;
      const stop = turns.loop.stop().then(() => {
        stopped = true;
      });
      await settled();
      expect(stopped).to.equal(false);
      turns.end(0);
      await stop;
      await settled();
      expect(turns.begun).to.equal(1);
    });

    it("takes no other turn, woken or not", async () => {
      const turns = new Turns();
      turns.loop.start();
      await turns.reaches(1);
      turns.loop.wake();
      const stop = turns.loop.stop();
      turns.end();
      await stop;
      turns.loop.wake();
      await settled();
      expect(turns.begun).to.equal(1);
    });

    it("was never started, or is stopped twice: both are fine", async () => {
      const turns = new Turns();
      await turns.loop.stop();
      turns.loop.wake();
      await settled();
      expect(turns.begun).to.equal(0);
      turns.loop.start();
      await turns.reaches(1);
      turns.end();
      await Promise.all([turns.loop.stop(), turns.loop.stop()]);
      await turns.loop.stop();
    });

    it("at once after its start takes no turn", async () => {
      const turns = new Turns();
      turns.loop.start();
      await turns.loop.stop();
      expect(turns.begun).to.equal(0);
    });

    it("starts again", async () => {
      const turns = new Turns();
      turns.loop.start();
      await turns.reaches(1);
      turns.end();
      await turns.loop.stop();
      turns.loop.start();
      await turns.reaches(2);
      turns.end();
      await turns.loop.stop();
    });

    it("starts again during its last turn without ever having two under way", async () => {
      const turns = new Turns();
      turns.loop.start();
      await turns.reaches(1);
      const stop = turns.loop.stop();
      turns.loop.start();
      await settled();
      expect(turns.begun).to.equal(1);
      turns.end();
      await stop;
      await turns.reaches(2);
      turns.end();
      await settled();
      expect({ begun: turns.begun, max: turns.max }).to.deep.equal({ begun: 2, max: 1 });
      await turns.loop.stop();
    });
  });
});
