import { type FSWatcher, lstatSync, readdirSync, type Stats, watch } from "node:fs";
import path from "node:path";

/** What a server reads when it starts. Not other JSON, which handlers may write. */
const SOURCE = /^[^.].*\.[cm]?[jt]sx?$|^queues\.json$|^\.env$/;
/** Never loaded. */
const NO_SOURCE = /\.(?:d|test)\.[cm]?[jt]sx?$/;
/** Folders of others: dependencies, repositories, data. */
const NOT_OURS = /^(?:\.|node_modules$)/;

/** A folder that is watched. */
interface Watched {
  readonly watcher: FSWatcher;
  /** Another folder of the same name has another one. */
  readonly inode: number;
}

/**
 * Tells of source files below some folders that change, come or go. It watches folders, not files: whoever saves by renaming, as editors,
 * `sed -i` and `git checkout` do, puts another file in the place of the one before.
 */
export class SourceWatch {
  readonly #roots: readonly string[];
  readonly #onChange: (file: string) => void;
  readonly #onError: (error: unknown) => void;
  readonly #folders = new Map<string, Watched>();

  constructor(roots: readonly string[], onChange: (file: string) => void, onError: (error: unknown) => void) {
    this.#roots = roots.map((root) => path.resolve(root));
    this.#onChange = onChange;
    this.#onError = onError;
  }

  start(): void {
    for (const root of this.#roots) this.#add(root);
  }

  /** Idempotent. */
  stop(): void {
    for (const { watcher } of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  /** Watches a folder and those in it. @returns a source file in them */
  #add(folder: string): string | undefined {
    if (this.#folders.has(folder)) return undefined;
    let found: string | undefined;
    try {
      // Before it is read, so that nothing comes unseen in between.
      const watcher = watch(folder, (_, name) => name !== null && this.#look(path.join(folder, name)));
      // A folder that was deleted, on some systems.
      watcher.on("error", () => this.#remove(folder));
      this.#folders.set(folder, { watcher, inode: lstatSync(folder).ino });
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const at = path.join(folder, entry.name);
        if (entry.isDirectory() && !NOT_OURS.test(entry.name)) found = this.#add(at) ?? found;
        else if (isSource(entry.name)) found = at;
      }
    } catch (error) {
      // It is gone already, or not there yet.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#onError(error);
    }
    return found;
  }

  #remove(folder: string): void {
    for (const [at, { watcher }] of this.#folders) {
      if (at !== folder && !at.startsWith(folder + path.sep)) continue;
      watcher.close();
      this.#folders.delete(at);
    }
  }

  /** Something has changed, come or gone there. */
  #look(at: string): void {
    const name = path.basename(at);
    if (isSource(name)) this.#onChange(at);
    else if (!NOT_OURS.test(name)) this.#lookAtFolder(at);
  }

  #lookAtFolder(at: string): void {
    const now = statsOf(at);
    const before = this.#folders.get(at);
    if (before !== undefined && before.inode === now?.ino) return;
    this.#remove(at);
    const file = now?.isDirectory() ? this.#add(at) : undefined;
    if (before !== undefined || file !== undefined) this.#onChange(file ?? at);
  }
}

const isSource = (name: string): boolean => SOURCE.test(name) && !NO_SOURCE.test(name);

function statsOf(at: string): Stats | undefined {
  return lstatSync(at, { throwIfNoEntry: false });
}
