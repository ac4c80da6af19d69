import { createRequire } from "node:module";

/** A node of the syntax tree; what it has depends on its type. */
export interface Node {
  readonly type: string;
  readonly range: readonly [number, number];
  readonly loc: { readonly start: { readonly line: number } };
  readonly [member: string]: unknown;
}

/** The package has no types; those below are all that we use of its tree. */
const luaparse: {
  parse(source: string, options: { ranges: true; locations: true; luaVersion: "5.1"; comments: false }): Node;
} = createRequire(import.meta.url)("luaparse");

/** The syntax tree of a Lua file. @throws SyntaxError */
export const parse = (source: string): Node =>
  luaparse.parse(source, { ranges: true, locations: true, luaVersion: "5.1", comments: false });

/** All nodes, each before those in it, with the nodes around it from the outermost on. */
export function* nodesOf(node: Node, around: readonly Node[] = []): Iterable<[Node, readonly Node[]]> {
  yield [node, around];
  const inside = [...around, node];
  for (const value of Object.values(node)) {
    for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) yield* nodesOf(one, inside);
  }
}

/** The innermost statement in a block that contains a node, perhaps the node itself. */
export function statementOf(node: Node, around: readonly Node[]): Node | undefined {
  return [...around, node].findLast((one, n) => {
    const block = around[n - 1]?.body;
    return Array.isArray(block) && block.includes(one);
  });
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "range" in value;
}
