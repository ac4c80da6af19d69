import type { Argument } from "./script.ts";

/** How items are written as arguments. */
interface Grouping<T> {
  /** Whether two consecutive items have a common head. */
  together(a: T, b: T): boolean;
  head(args: Argument[], first: T): void;
  item(args: Argument[], item: T): void;
}

/**
 * Items as arguments of a hot script. Each argument and each element of a reply costs the client more than Redis, so the common
 * head of consecutive items is sent once.
 */
export function grouped<T>(items: readonly T[], { together, head, item }: Grouping<T>): Argument[] {
  const args: Argument[] = [0];
  let groups = 0;
  let length = 0;
  let first: T | undefined;
  for (const one of items) {
    if (first === undefined || !together(first, one)) {
      groups += 1;
      first = one;
      head(args, one);
      length = args.push(0) - 1;
    }
    args[length] = Number(args[length]) + 1;
    item(args, one);
  }
  args[0] = groups;
  return args;
}
