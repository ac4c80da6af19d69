import type { Names } from "./codec.ts";
import type { Argument } from "./script.ts";

/**
 * Items as arguments of a hot script, after the number of their groups. Each argument and each element of a reply costs the client more
 * than Redis, so what consecutive items share is sent once, with their number.
 */
export function grouped<T>(items: readonly T[], head: Names<T>, own: Names<T>): Argument[] {
  const args: Argument[] = [0];
  let groups = 0;
  let length = 0;
  let first: T | undefined;
  for (const one of items) {
    if (first === undefined || !haveSame(head, first, one)) {
      groups += 1;
      first = one;
      for (const name of head) args.push((one[name] ?? "") as Argument);
      length = args.push(0) - 1;
    }
    args[length] = Number(args[length]) + 1;
    for (const name of own) args.push(one[name] as Argument);
  }
  args[0] = groups;
  return args;
}

function haveSame<T>(names: Names<T>, a: T, b: T): boolean {
  for (const name of names) if (a[name] !== b[name]) return false;
  return true;
}
