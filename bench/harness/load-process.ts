/**
 * The load generator: HTTP/1.1 over plain sockets. Requests are prepared in advance, and only the length and status of answers
 * are read: on a small machine it shares the cores with the server under test.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { benchId, type Load, type LoadPlan } from "./load.ts";

/** How long an open loop waits for the last answers. */
const GRACE_MS = 10_000;
const END = Buffer.from("\r\n\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

class Generator {
  readonly plan: LoadPlan;
  readonly #head: string;
  readonly #tail: string;
  readonly #whole: Buffer;
  /** The connection that has been idle longest is used next, since servers close idle ones. */
  readonly #idle: Connection[] = [];
  /** For an open loop: when each request was due that no connection has taken yet, and the index of the first of these. */
  #due: number[] = [];
  #dueFrom = 0;
  #latencies = new Float64Array(1 << 16);
  #count = 0;
  #open = 0;
  #sent = 0;
  #problems = 0;
  readonly #statuses = new Map<string, number>();
  #from = Number.POSITIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;

  constructor(plan: LoadPlan) {
    this.plan = plan;
    const headers = Object.entries(plan.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const length = plan.method === "GET" ? "" : `Content-Length: ${Buffer.byteLength(plan.body)}\r\n`;
    const [before = "", after = ""] = plan.path.split("{id}");
    this.#head = `${plan.method} ${before}`;
    this.#tail = `${after} HTTP/1.1\r\nHost: 127.0.0.1:${plan.port}\r\n${headers.join("")}${length}\r\n${plan.body}`;
    this.#whole = Buffer.from(this.#head + this.#tail);
  }

  async run(): Promise<Load> {
    const { plan } = this;
    const connections = await Promise.all(
      Array.from({ length: plan.connections }, () => Connection.open(this, plan.port)),
    );
    const began = performance.now();
    this.#from = began + plan.warmSeconds * 1000;
    this.#until = this.#from + plan.seconds * 1000;
    const cpu = process.cpuUsage();
    if (plan.rate === null) {
      for (const connection of connections) this.#send(connection, performance.now());
      await delay(this.#until - performance.now());
    } else {
      this.#idle.push(...connections);
      await this.#pace(plan.rate, began);
    }
    const used = process.cpuUsage(cpu);
    const unanswered = plan.rate === null ? 0 : this.#open + this.#due.length - this.#dueFrom;
    for (const connection of connections) connection.socket.destroy();
    return this.#result(unanswered, (used.user + used.system) / 1e6);
  }

  /** Lets requests become due, each at its own time, and waits for the answers. */
  async #pace(rate: number, began: number): Promise<void> {
    for (let due = 0; ; ) {
      const now = Math.min(performance.now(), this.#until);
      while (began + (due * 1000) / rate < now) {
        this.#due.push(began + (due * 1000) / rate);
        due += 1;
      }
      while (this.#idle.length > 0 && this.#dueFrom < this.#due.length) this.#sendNext(this.#idle.shift());
      if (now >= this.#until) break;
      await delay(1);
    }
    const deadline = performance.now() + GRACE_MS;
    while ((this.#open > 0 || this.#dueFrom < this.#due.length) && performance.now() < deadline) await delay(5);
  }

  #sendNext(connection: Connection | undefined): void {
    const due = this.#due[this.#dueFrom];
    if (connection === undefined || due === undefined) return;
    this.#dueFrom += 1;
    if (this.#dueFrom > 100_000) {
      this.#due = this.#due.slice(this.#dueFrom);
      this.#dueFrom = 0;
    }
    this.#send(connection, due);
  }

  #send(connection: Connection, due: number): void {
    const { ids } = this.plan;
    this.#open += 1;
    this.#sent += 1;
    connection.due = due;
    connection.socket.write(
      ids === 0 ? this.#whole : this.#head + benchId(Math.floor(Math.random() * ids)) + this.#tail,
    );
  }

  /** A complete answer has arrived. */
  answered(connection: Connection, status: string, problem: boolean): void {
    const now = performance.now();
    this.#open -= 1;
    const { due } = connection;
    const open = this.plan.rate !== null;
    // The latency in an open loop counts from when the request was due, so that delays show.
    const at = open ? due : now;
    if (at >= this.#from && at <= this.#until) {
      if (this.#count === this.#latencies.length) {
        const grown = new Float64Array(this.#count * 2);
        grown.set(this.#latencies);
        this.#latencies = grown;
      }
      this.#latencies[this.#count] = now - due;
      this.#count += 1;
      this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
      if (problem) this.#problems += 1;
    }
    if (!open) this.#send(connection, now);
    else if (this.#dueFrom < this.#due.length) this.#sendNext(connection);
    else this.#idle.push(connection);
  }

  #result(unanswered: number, cpuSeconds: number): Load {
    const sorted = this.#latencies.subarray(0, this.#count).sort();
    const at = (q: number) => sorted[Math.min(this.#count - 1, Math.floor(q * this.#count))] ?? Number.NaN;
    const { seconds } = this.plan;
    return {
      requests: this.#count,
      sent: this.#sent,
      seconds,
      perSecond: this.#count / seconds,
      latency: { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1) },
      statuses: Object.fromEntries(this.#statuses),
      unanswered,
      problems: this.#problems,
      cpuSeconds,
    };
  }
}

/** One keep-alive connection with at most one request under way. */
class Connection {
  readonly socket: Socket;
  readonly #generator: Generator;
  due = 0;
  #received: Buffer | undefined;

  static open(generator: Generator, port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => resolve(new Connection(generator, socket)));
    });
  }

  constructor(generator: Generator, socket: Socket) {
    this.#generator = generator;
    this.socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => {
      throw error;
    });
  }

  #take(chunk: Buffer): void {
    const bytes = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = bytes.indexOf(END);
    if (headEnd === -1 || !isWhole(bytes, headEnd + END.length)) {
      this.#received = bytes;
      return;
    }
    this.#received = undefined;
    const status = bytes.toString("latin1", 9, 12);
    this.#generator.answered(this, status, bytes.includes('"problem"'));
  }
}

function isWhole(bytes: Buffer, bodyAt: number): boolean {
  const head = bytes.toString("latin1", 0, bodyAt);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return bytes.length >= bodyAt + Number(length);
  return !/\r\ntransfer-encoding: *chunked/i.test(head) || bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK);
}

const plan = JSON.parse(process.argv[2] ?? "") as LoadPlan;
const load = await new Generator(plan).run();
process.send?.(load);
process.disconnect();
