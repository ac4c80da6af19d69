import { EventEmitter } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import type { Context } from "koa";
import { EVENTS, LINES, STREAM_DEFAULTS, type StreamFormat, Streams } from "../../../src/http/server/streams.ts";

/** A connection whose buffer a test fills and empties. */
class Connection extends EventEmitter {
  written: string[] = [];
  full = false;
  ended = false;
  destroyed = false;
  writableNeedDrain = false;
  writableLength = 1;
  writeHead(): void {}
  flushHeaders(): void {}
  get writableEnded(): boolean {
    return this.ended;
  }
  write(text: string): boolean {
    this.written.push(text);
    this.writableNeedDrain = this.full;
    return !this.full;
  }
  end(text = ""): void {
    if (text !== "") this.written.push(text);
    this.ended = true;
    this.emit("close");
  }
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
  drain(): void {
    this.full = false;
    this.writableNeedDrain = false;
    this.emit("drain");
  }
}

describe("a stream", () => {
  let clock: { tick(): void };
  let realSetInterval: typeof setInterval;
  beforeEach(() => {
    clock = { tick: () => undefined };
    realSetInterval = globalThis.setInterval;
    globalThis.setInterval = ((tick: () => void) => {
      clock.tick = tick;
      return realSetInterval(() => undefined, 60_000);
    }) as typeof setInterval;
  });
  afterEach(() => {
    globalThis.setInterval = realSetInterval;
  });
  /** Every stream gets one heartbeat in so many ticks. */
  const beat = () => {
    for (let n = 0; n < STREAM_DEFAULTS.spokes; n += 1) clock.tick();
  };

  const open = (format: StreamFormat, parts: AsyncIterable<string>) => {
    const connection = new Connection();
    const server = new AbortController();
    const closed = { times: 0, error: "" };
    new Streams(1, server.signal).send({ res: connection, state: {} } as unknown as Context, format, {
      parts,
      onClose: () => {
        closed.times += 1;
      },
      onError: (error) => {
        closed.error = String(error);
      },
    });
    return { connection, server, closed };
  };
  /** Parts that a test adds to. */
  const source = () => {
    const ready: string[] = [];
    let wake: () => void = () => undefined;
    const left = { isLeft: false };
    async function* parts() {
      try {
        for (;;) {
          for (let next = ready.shift(); next !== undefined; next = ready.shift()) yield next;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        left.isLeft = true;
      }
    }
    const add = async (...more: string[]) => {
      ready.push(...more);
      wake();
      await turn();
    };
    return { parts: parts(), add, left };
  };

  it("asks for a part only when the client has read those before it", async () => {
    const { parts, add } = source();
    const { connection } = open(EVENTS, parts);
    connection.full = true;
    await add("1", "2");
    expect(connection.written).to.deep.equal([EVENTS.opening, "1"]);
    connection.drain();
    await turn();
    expect(connection.written).to.deep.equal([EVENTS.opening, "1", "2"]);
    connection.destroy();
  });

  it("gets heartbeats, which lines of JSON have not", async () => {
    const [events, lines] = [open(EVENTS, source().parts), open(LINES, source().parts)];
    beat();
    expect(lines.connection.written).to.deep.equal([]);
    lines.connection.destroy();
    const again = open(EVENTS, source().parts);
    beat();
    expect(again.connection.written).to.deep.equal([EVENTS.opening, EVENTS.heartbeat]);
    for (const { connection } of [events, again]) connection.destroy();
  });

  it("drops a client that reads nothing for many turns, but not one that is merely slow", async () => {
    const { parts, add, left } = source();
    const { connection, closed } = open(EVENTS, parts);
    for (let n = 0; n <= STREAM_DEFAULTS.patienceTurns; n += 1) {
      connection.full = true;
      await add("x");
      beat();
      connection.drain();
      await turn();
    }
    expect(connection.destroyed).to.equal(false);
    connection.full = true;
    await add("x");
    for (let n = 0; n <= STREAM_DEFAULTS.patienceTurns; n += 1) beat();
    expect([connection.destroyed, closed.times]).to.deep.equal([true, 1]);
    await turn();
    expect(left.isLeft).to.equal(true);
  });

  for (const [what, format, isEnded] of [
    ["ends", EVENTS, true],
    ["breaks off", LINES, false],
  ] as const) {
    it(`of ${format.headers["Content-Type"]} ${what} if it fails, and if the server stops`, async () => {
      async function* failing() {
        yield "1";
        throw new Error("away");
      }
      const failed = open(format, failing());
      await turn();
      expect([failed.connection.ended, failed.connection.destroyed]).to.deep.equal([isEnded, !isEnded]);
      expect(failed.closed).to.deep.equal({ times: 1, error: "Error: away" });
      const stopped = open(format, source().parts);
      stopped.server.abort();
      expect([stopped.connection.ended, stopped.connection.destroyed]).to.deep.equal([isEnded, !isEnded]);
    });
  }
});
