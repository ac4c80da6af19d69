import { EventEmitter } from "node:events";
import net from "node:net";
import { Duplex } from "node:stream";
import type { Process, VirtualTime } from "./virtual-time.ts";

/** The distribution of the times that packets take, ms. */
const LATENCIES = [
  { share: 0.95, fromMs: 0.05, toMs: 1 },
  { share: 0.99, fromMs: 1, toMs: 20 },
  { share: 1, fromMs: 20, toMs: 400 },
] as const;
/** How long until a connection whose other end has gone silently is closed. */
const KEEPALIVE_MS = 60_000;

/** One end of a connection: what ioredis and the embedded store use of a socket. */
class Socket extends Duplex {
  connecting = false;
  readonly remoteAddress = "store";
  readonly remotePort = 6379;
  readonly process: Process;
  link: Link | undefined;
  #idle: { run: unknown } | undefined;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime, process: Process) {
    super({ allowHalfOpen: false });
    this.#time = time;
    this.process = process;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.link?.carry(this, (to) => to.push(chunk));
    done();
  }

  /** What is written at once is one packet. */
  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "", done);
  }

  override _final(done: () => void): void {
    this.link?.carry(this, (to) => to.push(null));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.setTimeout(0);
    this.link?.carry(this, (to) => to.destroy());
    done(error);
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  setNoDelay(): void {}

  setKeepAlive(): void {}

  /** Only implemented for the time until it is connected, for which ioredis uses it. */
  setTimeout(ms: number, listener?: () => void): void {
    if (this.#idle) this.#idle.run = undefined;
    if (ms > 0 && listener) this.#idle = this.#time.plan(this.process, ms, listener);
  }
}

/** A connection between a client and the store. */
class Link {
  readonly client: Socket;
  readonly server: Socket;
  /** From now on requests, or replies, disappear. */
  readonly lost = { requests: false, replies: false };
  readonly #time: VirtualTime;
  readonly #delayMs: () => number;
  /** When the last packet of each direction arrives: none overtakes another. */
  readonly #lastAt = { requests: 0, replies: 0 };

  constructor(time: VirtualTime, client: Socket, server: Socket, delayMs: () => number) {
    this.#time = time;
    this.#delayMs = delayMs;
    this.client = client;
    this.server = server;
    client.link = this;
    server.link = this;
  }

  carry(from: Socket, arrive: (to: Socket) => void): void {
    const [way, to] = from === this.client ? (["requests", this.server] as const) : (["replies", this.client] as const);
    this.#lastAt[way] = Math.max(this.#lastAt[way], this.#time.nowMs + this.#delayMs());
    this.#time.planAt(to.process, this.#lastAt[way], () => {
      if (!this.lost[way] && !to.destroyed) arrive(to);
    });
  }

  /** Tells one end after a while that the connection is broken. */
  break(end: "client" | "server", afterMs: number): void {
    const socket = this[end];
    const error = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    this.#time.plan(socket.process, afterMs, () => socket.destroy(error));
  }
}

/** All connections to the store: each has seeded latencies, and can lose packets in flight. */
export class Network {
  readonly #time: VirtualTime;
  readonly #chance: () => number;
  readonly #links = new Set<Link>();
  readonly #isolated = new Map<Process, number>();
  #server: { readonly listener: EventEmitter; readonly process: Process } | undefined;

  constructor(time: VirtualTime, chance: () => number) {
    this.#time = time;
    this.#chance = chance;
  }

  /** Takes the place of the sockets of Node, for good. */
  install(): void {
    Object.assign(net, { createServer: () => this.#listener(), createConnection: () => this.#connect() });
  }

  /** The server of the store, which is the process that makes it. */
  #listener(): EventEmitter {
    const server = Object.assign(new EventEmitter(), {
      listen: () => process.nextTick(() => server.emit("listening")),
      close: () => {},
    });
    this.#server = { listener: server, process: this.#time.process };
    return server;
  }

  #connect(): Socket {
    const { process } = this.#time;
    const client = new Socket(this.#time, process);
    client.connecting = true;
    this.#time.plan(process, this.#latencyMs(), () => {
      if (client.destroyed || !this.#server || this.isIsolated(process)) return;
      const { listener, process: store } = this.#server;
      const server = new Socket(this.#time, store);
      const link = new Link(this.#time, client, server, () => this.#latencyMs());
      this.#links.add(link);
      client.once("close", () => this.#links.delete(link));
      this.#time.plan(store, 0, () => listener.emit("connection", server));
      client.connecting = false;
      client.emit("connect");
    });
    return client;
  }

  #latencyMs(): number {
    const drawn = this.#chance();
    const { fromMs, toMs } = LATENCIES.find(({ share }) => drawn <= share) ?? LATENCIES[2];
    return fromMs + this.#chance() * (toMs - fromMs);
  }

  #linksOf(process: Process): Link[] {
    return [...this.#links].filter((link) => link.client.process === process);
  }

  isIsolated(process: Process): boolean {
    return (this.#isolated.get(process) ?? 0) > this.#time.nowMs;
  }

  /** Called when a process has died: what it has sent arrives, and its connections close. */
  leave(process: Process): void {
    for (const link of this.#linksOf(process)) {
      this.#links.delete(link);
      link.break("server", this.#chance() * 50);
    }
  }

  /** Cuts some connections of a process. Replies are lost, and perhaps requests; each end notices after a time of its own. */
  cut(process: Process, share: number): void {
    for (const link of this.#linksOf(process)) {
      if (this.#chance() > share) continue;
      link.lost.replies = true;
      link.lost.requests = this.#chance() < 0.5;
      link.break("client", this.#chance() * 1000);
      link.break("server", this.#chance() * 3000);
    }
  }

  /** Makes some connections of a process drop everything, without closing them. */
  silence(process: Process, share: number): void {
    for (const link of this.#linksOf(process)) {
      if (this.#chance() > share) continue;
      Object.assign(link.lost, { replies: true, requests: this.#chance() < 0.7 });
      link.break("server", KEEPALIVE_MS);
    }
  }

  /** Stops all traffic between a process and the store for a while, new connections included. */
  isolate(process: Process, forMs: number): void {
    this.#isolated.set(process, this.#time.nowMs + forMs);
    this.silence(process, 1);
  }
}
