import { type ApiKey, identityOf } from "../../auth/api-key.ts";
import type { KeyRing } from "../../auth/key-ring.ts";
import { reasonOf } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import { Loop, type Role } from "../../loop.ts";
import type { Keys } from "../../store/keys.ts";
import type { Scripts } from "../../store/library/scripts.ts";

/** How often it is looked which keys were used, ms. */
const LOOK_MS = 2000;

/** When each API key was last used, to the hour, by all processes. A process tells the store of a key once an hour, never during a request. */
export class KeyUses implements Role {
  readonly #keyRing: KeyRing;
  readonly #scripts: Scripts;
  readonly #tag: string;
  readonly #loop: Loop;
  /** Keys that were used, and of which the store is to be told. */
  #unsent = new Set<string>();
  /** Until when there is nothing new to tell of a key; monotonic, ms. */
  readonly #toldUntilMs = new Map<string, number>();

  constructor(keyRing: KeyRing, scripts: Scripts, keys: Keys, log: Logger) {
    this.#keyRing = keyRing;
    this.#scripts = scripts;
    this.#tag = keys.tag(0);
    this.#loop = new Loop({
      intervalMs: LOOK_MS,
      tick: () => this.#tell(),
      onError: (error) =>
        log.debug({ reason: reasonOf(error) }, "keys: could not note which keys were used; trying again later"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** The keys that this server knows, and the hour in which each was last used; undefined if never. @throws ProblemError store-unavailable */
  async list(): Promise<readonly { readonly key: ApiKey; readonly lastUsedMs: number | undefined }[]> {
    this.#keyRing.look();
    const uses = await this.#scripts.keyUses(this.#tag, {});
    return this.#keyRing.keys.map((key) => ({ key, lastUsedMs: uses.get(identityOf(key)) }));
  }

  async #tell(): Promise<undefined> {
    const nowMs = performance.now();
    for (const key of this.#keyRing.takeUsed()) {
      const name = identityOf(key);
      if ((this.#toldUntilMs.get(name) ?? 0) <= nowMs) this.#unsent.add(name);
    }
    if (this.#unsent.size === 0) return undefined;
    const untilMs = nowMs + (await this.#scripts.noteKeyUses(this.#tag, { keys: [...this.#unsent] }));
    for (const name of this.#unsent) this.#toldUntilMs.set(name, untilMs);
    this.#unsent = new Set();
    return undefined;
  }
}
