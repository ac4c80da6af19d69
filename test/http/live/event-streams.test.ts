import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect } from "chai";
import { EventStream, STREAM_DEFAULTS } from "../../../src/http/live/event-streams.ts";

/** A connection whose buffer a test fills and empties. */
class Connection extends EventEmitter {
  written: string[] = [];
  full = false;
  ended = false;
  destroyed = false;
  writeHead(): void {}
  write(text: string): boolean {
    this.written.push(text);
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
    this.emit("drain");
  }
  asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

describe("a stream of events", () => {
  const open = () => {
    const connection = new Connection();
    const stream = new EventStream(connection.asResponse());
    connection.written = [];
    return { connection, stream };
  };

  it("sends a slow client only the latest event when it is ready again", () => {
    const { connection, stream } = open();
    connection.full = true;
    stream.send("1");
    for (let n = 2; n <= 1000; n += 1) stream.send(String(n));
    stream.beat();
    expect(connection.written).to.deep.equal(["1"]);
    connection.drain();
    expect(connection.written).to.deep.equal(["1", "1000"]);
    stream.send("1001");
    expect(connection.written.at(-1)).to.equal("1001");
  });

  it("keeps the last event for a slow client, and sends nothing after it", () => {
    const { connection, stream } = open();
    connection.full = true;
    stream.send("1");
    stream.send("2");
    stream.end("done");
    stream.send("3");
    expect([connection.written, connection.ended]).to.deep.equal([["1"], false]);
    connection.drain();
    expect([connection.written, connection.ended]).to.deep.equal([["1", "done"], true]);
  });

  it("drops a client that reads nothing for many turns, but not one that is merely slow", () => {
    const { connection, stream } = open();
    for (let turn = 0; turn < STREAM_DEFAULTS.patienceTurns; turn += 1) {
      connection.full = true;
      stream.send("x");
      stream.beat();
      connection.drain();
    }
    expect(connection.destroyed).to.equal(false);
    connection.full = true;
    stream.send("x");
    for (let turn = 0; turn <= STREAM_DEFAULTS.patienceTurns; turn += 1) stream.beat();
    expect(connection.destroyed).to.equal(true);
  });
});
