import { syncBuiltinESMExports } from "node:module";
import wasi from "node:wasi";
import { ValkeyWasm } from "../../../src/store/servers/embedded/valkey-wasm.ts";
import type { Process, VirtualTime } from "./virtual-time.ts";

/** The clock of WASI that tells the time of day; all others are monotonic. */
const TIME_OF_DAY = 0;
const NS_PER_MS = 1e6;

/** The embedded store, with virtual time and seeded random numbers. */
export class SimulatedStore {
  /** How much its time of day is ahead, ms. */
  aheadMs = 0;
  readonly process: Process;
  readonly #time: VirtualTime;
  readonly #chance: () => number;

  constructor(time: VirtualTime, process: Process, chance: () => number) {
    this.#time = time;
    this.process = process;
    this.#chance = chance;
  }

  /** Starts it in real time, before the simulation begins. */
  async start(): Promise<void> {
    const store = this;
    const { WASI } = wasi;
    wasi.WASI = class extends WASI {
      #memory: { readonly buffer: ArrayBuffer } | undefined;
      #view = new DataView(new ArrayBuffer(0));

      constructor(options: ConstructorParameters<typeof WASI>[0]) {
        super(options);
        const view = () => {
          // The buffer is replaced when the memory grows.
          if (this.#memory && this.#memory.buffer !== this.#view.buffer) this.#view = new DataView(this.#memory.buffer);
          return this.#view;
        };
        Object.assign(this.wasiImport, {
          clock_time_get: (clock: number, _: bigint, at: number) => {
            view().setBigUint64(at, store.#clockNs(clock), true);
            return 0;
          },
          // Its log.
          fd_write: (_: number, vectors: number, count: number, written: number) => {
            let bytes = 0;
            for (let n = 0; n < count; n++) bytes += view().getUint32(vectors + 8 * n + 4, true);
            view().setUint32(written, bytes, true);
            return 0;
          },
          random_get: (at: number, length: number) => {
            for (let n = 0; n < length; n++) view().setUint8(at + n, Math.floor(store.#chance() * 256));
            return 0;
          },
        });
      }

      override initialize(instance: object): void {
        this.#memory = (instance as { exports: { memory: { buffer: ArrayBuffer } } }).exports.memory;
        super.initialize(instance);
      }
    };
    syncBuiltinESMExports();
    const fail = (error: unknown) => {
      throw error;
    };
    this.#time.enter(this.process);
    await new ValkeyWasm("", { onEnd: fail, onBusy: () => {} }).start();
    wasi.WASI = WASI;
    syncBuiltinESMExports();
  }

  #clockNs(clock: number): bigint {
    const ms = clock === TIME_OF_DAY ? this.#time.clockMs + this.aheadMs : this.#time.nowMs + 1;
    return BigInt(Math.floor(ms * NS_PER_MS));
  }
}
