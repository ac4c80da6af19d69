/** A profile as `node --cpu-prof` writes it. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
  /** Monotonic µs; the deltas count from here. */
  readonly startTime: number;
}

/**
 * Shares of the busy time by npm package and by file of this one. Time within Node counts for its nearest caller among these,
 * or else for Node.
 * @param fromMicros monotonic µs before which nothing counts, to leave out the start of the process
 */
export function shareBy(profile: CpuProfile, fromMicros: number): [string, number][] {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const owners = new Map<number, string>();
  const ownerOf = (id: number): string => {
    const known = owners.get(id);
    if (known !== undefined) return known;
    const node = nodes.get(id);
    const parent = parents.get(id);
    const { functionName = "", url = "" } = node?.callFrame ?? {};
    const named = functionName === "(garbage collector)" ? "garbage collection" : ownerOfUrl(url);
    const owner = named ?? (parent === undefined ? "Node itself" : ownerOf(parent));
    owners.set(id, owner);
    return owner;
  };
  const times = new Map<string, number>();
  let busy = 0;
  let now = profile.startTime;
  for (const [i, id] of profile.samples.entries()) {
    const time = profile.timeDeltas[i] ?? 0;
    now += time;
    if (now < fromMicros || nodes.get(id)?.callFrame.functionName === "(idle)") continue;
    busy += time;
    times.set(ownerOf(id), (times.get(ownerOf(id)) ?? 0) + time);
  }
  return [...times].map(([owner, time]): [string, number] => [owner, time / busy]).sort((a, b) => b[1] - a[1]);
}

function ownerOfUrl(url: string): string | undefined {
  return (
    /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1] ?? /\/(dist\/[^?]+)\.js$/.exec(url)?.[1]
  );
}
