import { type Redis, ReplyError } from "ioredis";
import type { Config } from "../config/config.ts";
import type { Durability } from "../config/variables.ts";
import { messageOf } from "../errors.ts";
import { nodesOf } from "./cluster-routing.ts";
import { type Connection, isCluster } from "./connection.ts";
import type { Keys } from "./keys.ts";
import type { LibraryOptions } from "./library/library.ts";
import { scriptsOf } from "./library/scripts.ts";
import type { RefusedCommand } from "./ops/deployment.ts";
import { storeError } from "./store-error.ts";

/** What {@link missingRights} examines. */
interface RightsParts {
  readonly connection: Connection;
  readonly keys: Keys;
  readonly config: Pick<Config, "durability" | "strictResultTtl" | "rateLimit">;
  readonly parts: LibraryOptions["parts"];
}

/**
 * Tries what the server does in its store, on a connection of its own: scripts with all their commands, writes, messages, and what confirms
 * the durability.
 * @returns what the store's user may not do, as a sentence that says how to allow it; undefined if it may do everything
 * @throws ProblemError store-unavailable if the store takes no writes
 */
export async function missingRights({ connection, keys, config, parts }: RightsParts): Promise<string | undefined> {
  const { durability, strictResultTtl, rateLimit } = config;
  const sharded = isCluster(connection);
  const tag = keys.tag(0);
  const examined = nodesOf(connection).run(tag, async (node) => {
    // Unlike other connections, this one treats a refusal as an answer, and does not look for another server.
    const own = node.duplicate({ lazyConnect: true, retryStrategy: () => null, reconnectOnError: () => false });
    own.on("error", () => undefined);
    try {
      await own.connect();
      return [
        ...(await runsScripts(own, tag, { sharded, strictResultTtl, parts })),
        ...(rateLimit ? await counts(own, tag) : []),
        ...(await confirms(own, durability)),
        // Last, since afterwards the connection accepts no other commands.
        ...(await subscribes(own, keys, sharded)),
      ];
    } finally {
      own.disconnect();
    }
  });
  const refused = await examined.catch((error: unknown) => {
    throw storeError(error);
  });
  return sentenceOf(refused, keys);
}

async function runsScripts(node: Redis, tag: string, options: LibraryOptions): Promise<readonly RefusedCommand[]> {
  // Any other answer counts as allowed, also from a server that is full but has the library: the probe needs it.
  const refused = [
    ...(await allowed("FUNCTION|LIST", () => node.function("LIST", "LIBRARYNAME", NO_LIBRARY))),
    ...(await allowed("FUNCTION|DELETE", () => node.function("DELETE", NO_LIBRARY))),
    ...(await allowed("FUNCTION|LOAD", () => node.function("LOAD", ""))),
    ...(await allowed("FCALL", () => node.fcall(NO_LIBRARY, 1, tag))),
  ];
  if (refused.some(({ command }) => command === "FCALL" || command === "FUNCTION|LOAD")) return refused;
  return [
    ...refused,
    ...(await scriptsOf(node, options).probe(tag, { publish: options.sharded ? "SPUBLISH" : "PUBLISH" })),
  ];
}

/** Whether the user may run a command; its answer does not matter. @throws Error of the connection, while it breaks */
async function allowed(command: string, run: () => Promise<unknown>): Promise<RefusedCommand[]> {
  try {
    return await tried(command, run);
  } catch (error) {
    if (error instanceof ReplyError) return [];
    throw error;
  }
}

/** Requests are counted by a script of the package that does it. */
async function counts(node: Redis, tag: string): Promise<RefusedCommand[]> {
  const [text, digest] = ["return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"];
  return [
    ...(await tried("EVAL", () => node.eval(text, 1, tag))),
    ...(await tried("EVALSHA", () => node.evalsha(digest, 1, tag))),
  ];
}

function subscribes(node: Redis, keys: Keys, sharded: boolean): Promise<RefusedCommand[]> {
  const channel = keys.noticeChannel(0, "probe");
  return sharded
    ? tried("SSUBSCRIBE", () => node.ssubscribe(channel))
    : tried("SUBSCRIBE", () => node.subscribe(channel));
}

/** Calls the command with nothing to wait for. */
async function confirms(node: Redis, durability: Durability): Promise<RefusedCommand[]> {
  if (durability === "memory") return [];
  if (durability === "fsync") return await tried("WAITAOF", () => node.call("WAITAOF", 0, 0, 1));
  const role = durability === "replicas" ? await tried("ROLE", () => node.role()) : [];
  return [...role, ...(await tried("WAIT", () => node.wait(0, 1)))];
}

async function tried(command: string, run: () => Promise<unknown>): Promise<RefusedCommand[]> {
  try {
    await run();
    return [];
  } catch (error) {
    const said = messageOf(error);
    if (isDenied(said)) return [{ command, said }];
    throw error;
  }
}

/** No library or function has this name. */
const NO_LIBRARY = "paihao_none";

const isDenied = (said: string): boolean => /\bNOPERM\b/.test(said);

function sentenceOf(refused: readonly RefusedCommand[], keys: Keys): string | undefined {
  if (refused.length === 0) return undefined;
  const start = `{${keys.prefix}:`;
  // A command that is allowed, but not on our keys or channels.
  const [channels, others] = split(refused, /channel/i);
  const [ofKeys, commands] = split(others, /\bkeys?\b/i);
  const may = [
    ...(commands.length > 0 ? [`run ${namesOf(commands)}`] : []),
    ...(ofKeys.length > 0 ? [`use keys that begin with ${start}`] : []),
    ...(channels.length > 0 ? [`use channels that begin with ${start} (${namesOf(channels)})`] : []),
  ];
  const rights = [
    ...commands.map(({ command }) => `+${command.toLowerCase()}`),
    ...(ofKeys.length > 0 ? [`~${start}*`] : []),
    ...(channels.length > 0 ? [`&${start}*`] : []),
  ];
  const allow = [...new Set(rights)].map((right) => (/[{&~|]/.test(right) ? `'${right}'` : right)).join(" ");
  return `the store's user may not ${may.join(", nor ")}; allow it: ACL SETUSER … ${allow} (docs/security.md lists all rights that it needs)`;
}

const namesOf = (refused: readonly RefusedCommand[]): string =>
  [...new Set(refused.map(({ command }) => command))].join(", ");

function split(all: readonly RefusedCommand[], said: RegExp): [RefusedCommand[], RefusedCommand[]] {
  return [all.filter((one) => said.test(one.said)), all.filter((one) => !said.test(one.said))];
}
