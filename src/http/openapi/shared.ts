import type { Operation, Paths, Reference, Response } from "./types.ts";

type Shared = Readonly<Record<string, Response>>;

/**
 * Moves responses that several operations share to the components, named by status and a number (generators make types of these names, so they begin with a letter): repeated problems would be
 * most of the document.
 */
export function shareResponses(paths: Paths): { paths: Paths; responses: Shared } {
  const times = new Map<string, number>();
  for (const item of Object.values(paths)) {
    for (const { responses } of Object.values(item ?? {})) {
      for (const response of Object.values(responses)) {
        const key = JSON.stringify(response);
        times.set(key, (times.get(key) ?? 0) + 1);
      }
    }
  }
  const names = new Map<string, string>();
  const responses: Record<string, Response> = {};
  const shared = (status: string, response: Response | Reference): Response | Reference => {
    const key = JSON.stringify(response);
    if ("$ref" in response || times.get(key) === 1) return response;
    const prefix = `Response${status}.`;
    const number = () => Object.keys(responses).filter((name) => name.startsWith(prefix)).length + 1;
    const name = names.get(key) ?? `${prefix}${number()}`;
    names.set(key, name);
    responses[name] = response;
    return { $ref: `#/components/responses/${name}` };
  };
  const withShared = (operation: Operation): Operation => ({
    ...operation,
    responses: mapped(operation.responses, (response, status) => shared(status, response)),
  });
  return { paths: mapped(paths, (item) => mapped(item ?? {}, withShared)), responses };
}

function mapped<T, U>(members: Readonly<Record<string, T>>, to: (member: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, to(member, name)]));
}
