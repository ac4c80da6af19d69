import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ROOT } from "../../test/shared/root.ts";

/** A CPU profile as V8 writes it. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  /** µs since the sample before. */
  readonly timeDeltas: readonly number[];
}

/** Where the time of the main thread of a process goes; in the order in which they are shown. */
export const PLACES = [
  "Paihao: HTTP",
  "Paihao: workers, handler",
  "Paihao: engine, store, others",
  "Koa and its router",
  "ioredis",
  "other packages",
  "Node: HTTP and sockets",
  "Node: async context",
  "Node: others",
  "writes to sockets",
  "garbage collection",
] as const;
export type Place = (typeof PLACES)[number];

/** By the beginning of a package's path in node_modules. */
const PACKAGES: readonly (readonly [RegExp, Place])[] = [
  [
    /^(koa|@koa|delegates|on-finished|ee-first|statuses|cookies|vary|type-is|content-|path-to-regexp)/,
    "Koa and its router",
  ],
  [/^(ioredis|@ioredis|redis-|standard-as-callback|denque|cluster-key-slot)/, "ioredis"],
  [/^/, "other packages"],
];
const NODE: readonly (readonly [RegExp, Place])[] = [
  [/async_hooks/, "Node: async context"],
  [
    /^node:(_http|internal\/http|net|internal\/net|internal\/streams|internal\/stream_base|events)/,
    "Node: HTTP and sockets",
  ],
  [/^node:/, "Node: others"],
];
const OURS: readonly (readonly [RegExp, Place])[] = [
  [/\/dist\/(http|wire)\//, "Paihao: HTTP"],
  [/\/dist\/(workers|handler|handlers)\/|\/bench\//, "Paihao: workers, handler"],
  [/^/, "Paihao: engine, store, others"],
];
const WRITES = /^write(v|Buffer|Utf8String|Latin1String|AsciiString|Ucs2String)$/;

const firstOf = (rules: readonly (readonly [RegExp, Place])[], text: string) =>
  rules.find(([form]) => form.test(text))?.[1] ?? "Node: others";

function placeOf(name: string, url: string): Place | undefined {
  if (name === "(garbage collector)") return "garbage collection";
  if (name === "(program)") return "Node: others";
  if (url === "" && WRITES.test(name)) return "writes to sockets";
  // A native function belongs to its caller.
  if (url === "" || name.startsWith("RegExp:")) return undefined;
  const packaged = /.*\/node_modules\/(.*)/.exec(url)?.[1];
  if (packaged !== undefined) return firstOf(PACKAGES, packaged);
  return firstOf(url.startsWith("node:") ? NODE : OURS, url);
}

/** The time in each place, µs; none for waiting. */
function timesOf({ nodes, samples, timeDeltas }: CpuProfile): ReadonlyMap<Place, number> {
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const places = new Map<number, Place>();
  for (const { id } of nodes) {
    let place: Place | undefined;
    for (let at: number | undefined = id; at !== undefined && place === undefined; at = callers.get(at)) {
      const { functionName = "", url = "" } = frames.get(at) ?? {};
      place = placeOf(functionName, url);
    }
    places.set(id, place ?? "Node: others");
  }
  const micros = new Map<Place, number>(PLACES.map((place) => [place, 0]));
  for (const [n, id] of samples.entries()) {
    if (frames.get(id)?.functionName === "(idle)") continue;
    const place = places.get(id) ?? "Node: others";
    micros.set(place, (micros.get(place) ?? 0) + (timeDeltas[n] ?? 0));
  }
  return micros;
}

/** Profiles a process that was started with {@link args} and {@link env}. */
export class Profiler {
  readonly #dir = mkdtempSync(path.join(tmpdir(), "paihao-profile-"));
  readonly #file = path.join(this.#dir, "profile");
  readonly args = ["--import", path.join(ROOT, "bench/harness/profiled.mjs")];
  readonly env = { PROFILE: this.#file };

  /** Profiles it while some work is done; returns the time in each place, µs. */
  async during(pid: number, work: () => Promise<void>): Promise<ReadonlyMap<Place, number>> {
    process.kill(pid, "SIGUSR2");
    await work();
    process.kill(pid, "SIGUSR2");
    for (;;) {
      await delay(50);
      const text = existsSync(this.#file) ? readFileSync(this.#file, "utf8") : "";
      if (!text.endsWith("}")) continue;
      rmSync(this.#file);
      return timesOf(JSON.parse(text) as CpuProfile);
    }
  }

  end(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
