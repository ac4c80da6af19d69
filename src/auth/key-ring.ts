import { statSync } from "node:fs";
import { messageOf, StartError } from "../errors.ts";
import type { Logger } from "../log.ts";
import { type ApiKey, checkNamesUnique, findKey, hashBeginning, isExpired } from "./api-key.ts";
import { type KeyFile, readKeyFile } from "./key-file.ts";

/** The shortest time between two checks of the key file, ms: a revoked key may work for that long. */
export const LOOK_MS = 1000;

/**
 * The API keys that this server accepts: those of API_KEYS, and those that are in API_KEYS_FILE now. A key is looked up
 * synchronously, since the id of a request depends on its sender.
 */
export class KeyRing {
  readonly #fixed: readonly ApiKey[];
  readonly #file: string | undefined;
  readonly #log: Logger;
  readonly #now: () => number;
  #keys: readonly ApiKey[];
  #used = new Set<ApiKey>();
  /** The version of the file when it was last read; "" if it was not. */
  #version = "";
  #lookedMs: number;

  /**
   * @param options.now milliseconds of a monotonic clock
   * @throws StartError if the file cannot be read, a line is not a key, or two keys have the same name
   */
  constructor(
    fixed: readonly ApiKey[],
    file: string | undefined,
    { log, now = () => performance.now() }: { log: Logger; now?: () => number },
  ) {
    this.#fixed = fixed;
    this.#file = file;
    this.#log = log;
    this.#now = now;
    this.#lookedMs = now();
    this.#keys = file === undefined ? fixed : this.#firstKeys(file);
  }

  /** The entry of a key; undefined if it is unknown or has expired. */
  find(key: string): ApiKey | undefined {
    this.look();
    const entry = findKey(this.#keys, key);
    if (!entry || isExpired(entry)) return undefined;
    this.#used.add(entry);
    return entry;
  }

  /** The keys that were found since the last call of this. */
  takeUsed(): Iterable<ApiKey> {
    const used = this.#used;
    this.#used = new Set();
    return used;
  }

  /** Why a key is not accepted, for a log. */
  refusalOf(key: string): string {
    const entry = findKey(this.#keys, key);
    return entry ? `${entry.name} has expired` : `unknown, its hash begins with ${hashBeginning(key)}`;
  }

  /** The keys that are known now; some may have expired. */
  get keys(): readonly ApiKey[] {
    return this.#keys;
  }

  /** Reads the file if it has changed, and was not looked at just now. */
  look(): void {
    if (this.#file !== undefined && this.#now() - this.#lookedMs >= LOOK_MS) this.#look(this.#file);
  }

  /** Reads the file again, whether it has changed or not. */
  reload(): void {
    this.#version = "";
    if (this.#file !== undefined) this.#look(this.#file);
  }

  #firstKeys(file: string): readonly ApiKey[] {
    let read: KeyFile;
    try {
      this.#version = versionOf(file);
      read = readKeyFile(file);
    } catch (error) {
      throw new StartError(`API_KEYS_FILE is ${JSON.stringify(file)}, expected a file to read: ${messageOf(error)}`);
    }
    const [fault] = read.faults;
    if (fault !== undefined) throw new StartError(`API_KEYS_FILE is ${JSON.stringify(file)}, ${fault}`);
    const keys = [...this.#fixed, ...read.keys];
    checkNamesUnique(keys);
    return keys;
  }

  #look(file: string): void {
    this.#lookedMs = this.#now();
    try {
      // The version first: if the file is written in between, its version differs, and it is read again next time.
      const version = versionOf(file);
      if (version === this.#version) return;
      const { keys, faults } = readKeyFile(file);
      this.#version = version;
      const names = new Set(this.#fixed.map(({ name }) => name));
      const [taken, fresh] = [keys.filter(({ name }) => names.has(name)), keys.filter(({ name }) => !names.has(name))];
      this.#keys = [...this.#fixed, ...fresh];
      // An invalid line admits nobody, and the other keys still work.
      for (const fault of faults)
        this.#log.error({ file, fault }, "keys: skipped a line of API_KEYS_FILE that is not a key");
      for (const { name } of taken)
        this.#log.error({ file, key: name }, "keys: skipped a key of API_KEYS_FILE whose name is in API_KEYS too");
      this.#log.info({ file, keys: this.#keys.length }, "keys: read API_KEYS_FILE");
    } catch (error) {
      const gone = (error as NodeJS.ErrnoException).code === "ENOENT";
      // Removing the file revokes all its keys. Any other error may be temporary, so the keys are kept.
      if (gone) this.#keys = this.#fixed;
      if (gone ? this.#version !== GONE : true) {
        this.#log.error({ file, reason: messageOf(error), kept: !gone }, "keys: could not read API_KEYS_FILE");
      }
      if (gone) this.#version = GONE;
    }
  }
}

/** The version of a file that was removed. */
const GONE = "gone";

/** Changes whenever the content does. */
function versionOf(file: string): string {
  const { mtimeNs, size, ino } = statSync(file, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
}
