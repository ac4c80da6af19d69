import { type Argument, type Reply, text } from "./reply.ts";
import type { BatchVerb, Verb, Weights } from "./verb.ts";

/** What comes with the answer of a verb. */
interface Beside {
  /** What goes beside it as it is, since it may be long or not text. */
  readonly beside: Reply | undefined;
  /** See {@link Verb.read}. */
  readonly durable: boolean;
}

interface Options<Answer> extends Pick<Verb<never, unknown>, "patienceMs" | "confirmed" | "filled"> {
  /** The member, of what is asked or of each item, that is sent as it is, since it may be long or not text. */
  readonly raw?: string;
  /** Makes the answer of what the Lua returns, if it differs: see {@link decoded}. */
  readonly read?: (said: never, more: Beside) => Answer;
}

/** A verb that takes one JSON argument and gives one JSON answer; in Lua: `register`, see library/assemble.ts. */
export function jsonVerb<Of extends object, Answer>({
  read,
  raw,
  sent = (of) => of,
  ...more
}: Options<Answer> & {
  readonly isReading?: (of: Of) => boolean;
  /** What is sent, if that is not what is asked. */
  readonly sent?: (of: Of) => object;
} = {}): Verb<[of: Of], Answer> {
  const write = (of: Of): Argument[] => {
    const asked = sent(of);
    return [encoded({ ...without(asked, raw), raw }), ...taken([asked], raw)];
  };
  return { ...more, bytes: true, write, read: reader(read) };
}

/** The same on several items, which the Lua gets as `items`. */
export function jsonVerbOnEach<Item extends object, Verdict, More extends object = object>(
  weights: Weights<Item> = {},
  { read, raw, ...more }: Options<readonly Verdict[]> & Pick<BatchVerb<Item, Verdict>, "ends"> = {},
): BatchVerb<Item, Verdict, [more?: More]> {
  const write = (items: readonly Item[], beside?: More): Argument[] => [
    encoded({ ...beside, items: items.map((item) => without(item, raw)), raw }),
    ...taken(items, raw),
  ];
  return { ...more, weights, bytes: true, write, read: reader(read) };
}

const without = (of: object, raw: string | undefined): object => (raw === undefined ? of : { ...of, [raw]: undefined });

const taken = (items: readonly object[], raw: string | undefined): Argument[] =>
  raw === undefined ? [] : items.map((item) => item[raw as keyof typeof item] as Argument);

function reader<Answer>(read: Options<Answer>["read"] = (said) => said): Verb<never, Answer>["read"] {
  return (reply, durable) => {
    const [answer, beside] = Array.isArray(reply) ? reply : [reply];
    return read(decoded(text(answer)) as never, { beside, durable });
  };
}

/** Members that are null are left out, and half characters, which Lua's decoder refuses, are replaced, as they would be in UTF-8. */
function encoded(asked: object): string {
  return JSON.stringify(asked, (_name, of: unknown) =>
    typeof of === "string" ? of.toWellFormed() : (of ?? undefined),
  );
}

/** Lua writes an empty list as an empty object. No object in an answer is empty, so each such is a list. */
function decoded(json: string): unknown {
  return json.includes("{}") ? JSON.parse(json, (_name, of: unknown) => (isEmpty(of) ? [] : of)) : JSON.parse(json);
}

const isEmpty = (of: unknown): boolean => typeof of === "object" && of !== null && Object.keys(of).length === 0;
