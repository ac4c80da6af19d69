/** A profile as `node --cpu-prof` writes it. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/**
 * Shares of the busy time by npm package and by file of this one. What Node itself does counts for the nearest caller that is
 * one of them, or else for Node.
 */
export function shareBy(profile: CpuProfile): [string, number][] {
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
  for (const [i, id] of profile.samples.entries()) {
    if (nodes.get(id)?.callFrame.functionName === "(idle)") continue;
    const time = profile.timeDeltas[i] ?? 0;
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
