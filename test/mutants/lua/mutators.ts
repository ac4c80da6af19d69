import { type Node, nodesOf, parse, statementOf } from "./syntax.ts";

/** The kinds of mutations: each is a mistake that somebody could make. */
export type Kind =
  | "comparison"
  | "condition"
  | "fence check"
  | "repeat check"
  | "expiry"
  | "score"
  | "ZREM"
  | "notice"
  | "count"
  | "statement";

/** One change of a Lua file. */
export interface Mutation {
  readonly kind: Kind;
  readonly line: number;
  /** Where the text changes, and the statement in which that is, as offsets. */
  readonly from: number;
  readonly to: number;
  readonly statement: number;
  readonly becomes: string;
}

const OTHER_COMPARISON: Readonly<Record<string, string>> = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
/** The arguments of ZADD that are not scores. */
const ZADD_OPTIONS = ["XX", "NX", "GT", "LT", "CH"];
/** The options of SET with a time behind them. */
const SET_EXPIRIES = ["PX", "EX", "PXAT", "EXAT"];

/** All mutations of a Lua file, in its order. */
export function mutationsOf(source: string): Mutation[] {
  const found: Mutation[] = [];
  for (const [node, around] of nodesOf(parse(source))) {
    const statement = statementOf(node, around);
    // Code outside of functions only defines names; a mistake there shows when the library is loaded.
    if (!statement || !around.some(({ type }) => type === "FunctionDeclaration")) continue;
    const add = (kind: Kind, [from, to]: readonly [number, number], becomes: string) =>
      found.push({ kind, line: lineOf(source, from), from, to, statement: statement.range[0], becomes });
    for (const [kind, range, becomes] of changesOf(source, node, around)) add(kind, range, becomes);
  }
  return found;
}

type Change = readonly [kind: Kind, range: readonly [number, number], becomes: string];

function* changesOf(source: string, node: Node, around: readonly Node[]): Iterable<Change> {
  const text = (of: Node) => source.slice(...of.range);
  if (node.type === "IfClause" || node.type === "ElseifClause") {
    const { condition } = node as unknown as { condition: Node };
    yield [checkKind(text(node)), condition.range, "false"];
  }
  if (node.type === "BinaryExpression") {
    const { operator, left, right } = node as unknown as { operator: string; left: Node; right: Node };
    const other = OTHER_COMPARISON[operator];
    if (other) yield ["comparison", operatorRange(source, operator, left, right), other];
  }
  // `check and one or other`
  if (node.type === "LogicalExpression" && node.operator === "or") {
    const { left, right } = node as unknown as { left: Node; right: Node };
    const isChoice = left.type === "LogicalExpression" && left.operator === "and";
    if (isChoice && !isChecked(node, around)) yield [checkKind(text(left)), node.range, text(right)];
  }
  if (node.type === "CallExpression") yield* commandChanges(source, node);
  if (node.type === "CallStatement") yield [callKind(text(node)), node.range, ""];
  // `n = n + 1`
  if (node.type === "AssignmentStatement" && /^([\w.[\]]+) = \1 \+ 1$/.test(text(node)))
    yield ["count", node.range, ""];
}

/** Changes of a command of Redis: the score that ZADD gives, and the expiry that SET sets. */
function* commandChanges(source: string, node: Node): Iterable<Change> {
  const args = node.arguments as readonly Node[];
  const words = args.map((arg) => (arg.type === "StringLiteral" ? source.slice(...arg.range).slice(1, -1) : undefined));
  if (words[0] === "ZADD") {
    const score = args.findIndex((_, n) => n >= 2 && !ZADD_OPTIONS.includes(words[n] ?? ""));
    const range = args[score]?.range;
    if (range && args.length > score + 1 && source.slice(...range) !== "0") yield ["score", range, "0"];
  }
  const at = words[0] === "SET" ? words.findIndex((word) => SET_EXPIRIES.includes(word ?? "")) : -1;
  const [before, time] = [args[at - 1], args[at + 1]];
  if (at > 0 && before && time) yield ["expiry", [before.range[1], time.range[1]], ""];
}

/** Whether a node is in the condition of an `if` or a loop, which is changed as a whole. */
const isChecked = (node: Node, around: readonly Node[]): boolean =>
  [...around, node].some((one, n) => n > 0 && around[n - 1]?.condition === one);

function checkKind(clause: string): Kind {
  const [head = ""] = clause.split("\n");
  if (/\bfence\b|held_under/.test(head)) return "fence check";
  return /\b(known|answers?|already|resent|remembered|repeated)\b/i.test(head) ? "repeat check" : "condition";
}

function callKind(call: string): Kind {
  if (/'(P?EXPIRE(AT)?|HP?EXPIRE(AT)?|PERSIST)'/.test(call)) return "expiry";
  if (/'(ZREM\w*|HDEL|DEL|UNLINK|LREM|SREM|LTRIM)'/.test(call)) return "ZREM";
  if (/^(Notices|Follow)\.|OPTIONS\.publish|_notice|tell/.test(call)) return "notice";
  if (/^Rate\.count|'HINCRBY(FLOAT)?'|'INCR(BY)?'/.test(call)) return "count";
  return "statement";
}

function operatorRange(source: string, operator: string, left: Node, right: Node): readonly [number, number] {
  const from = source.indexOf(operator, left.range[1]);
  if (from < 0 || from > right.range[0]) throw new Error(`no ${operator} between two operands`);
  return [from, from + operator.length];
}

const lineOf = (source: string, offset: number): number => source.slice(0, offset).split("\n").length;
