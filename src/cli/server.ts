import { EventEmitter } from "node:events";
import { Connection, type Request } from "../client/connection.ts";
import { LINK, type Target, targetOf } from "../client/follow.ts";
import { quotedUrl } from "../redact.ts";
import { isFollower, isId, isQueueName } from "../task.ts";
import type { Page } from "../wire/document.ts";
import { wrongUsage } from "./exit.ts";

/** Where the server is that a command talks to, and as whom. */
export interface ServerOptions {
  readonly url: string;
  readonly key?: string;
}

/**
 * How often a request is tried: a person wants to know soon that there is no server, but must not lose a task of an hour to a restart. 16
 * attempts take more than a minute.
 */
const ATTEMPTS = { first: 2, watching: 16 } as const;

/** Events for those who wait for a task: the server has stopped answering, or answers again. */
export const reach = new EventEmitter<{ away: []; back: [] }>();

/** Answers of a proxy without its server. */
const AWAY: readonly number[] = [502, 503, 504];

/** `fetch` that emits on {@link reach}. */
function tellingFetch(): typeof fetch {
  let isAway = false;
  const tell = (away: boolean) => {
    if (away !== isAway) reach.emit(away ? "away" : "back");
    isAway = away;
  };
  return async (input, init) => {
    try {
      const response = await fetch(input, init);
      tell(AWAY.includes(response.status) && !response.headers.has("X-Task-State"));
      return response;
    } catch (error) {
      // An aborted request says nothing about the server.
      if (!init?.signal?.aborted) tell(true);
      throw error;
    }
  };
}

/** A connection to the server that the options name. @throws CommandError for options that cannot be used */
export function connectionTo(options: ServerOptions, patience: keyof typeof ATTEMPTS = "first"): Connection {
  const { url } = options;
  // PAIHAO_KEY= in an environment means none.
  const key = options.key === "" ? undefined : options.key;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw wrongUsage(`--url is ${quotedUrl(url)}, expected http://host:port or https://…`);
  }
  const { username, search, hash } = new URL(url);
  if (username !== "" || search !== "" || hash !== "") {
    throw wrongUsage("--url has a user, a query or a fragment, expected http://host:port or https://…");
  }
  // Its value is not repeated: it may be a key.
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw wrongUsage("--key has characters that cannot be in an API key");
  return new Connection({
    url,
    key,
    fetch: patience === "watching" ? tellingFetch() : fetch,
    attempts: ATTEMPTS[patience],
  });
}

/** The path of a task, perhaps of a webhook or an undo. @throws CommandError if it is not an id */
export function taskPath(id: string): string {
  if (!isId(id) && !isFollower(id))
    throw wrongUsage(`${JSON.stringify(id)} is not an id: 1–128 characters of A–Z a–z 0–9 . _ ~ -`);
  return `/v1/requests/${id}`;
}

/** A task, and how the person named it. */
export interface NamedTask extends Target {
  /** Its id or a link to it, quoted for a shell. */
  readonly name: string;
}

/** A task that is named by its id or by a link to it, which may be signed. @throws CommandError if it is neither */
export function taskAt(connection: Connection, idOrLink: string): NamedTask {
  const isLink = LINK.test(idOrLink);
  const target = targetOf(connection, isLink ? idOrLink : taskPath(idOrLink));
  return { ...target, name: isLink ? `'${idOrLink.replaceAll("'", "%27")}'` : idOrLink };
}

/** The path of a queue. @throws CommandError if it is not a name */
export function queuePath(queue: string): string {
  if (!isQueueName(queue)) {
    throw wrongUsage(`${JSON.stringify(queue)} is not the name of a queue: 1–64 characters of a–z 0–9 . _ -`);
  }
  return `/v1/queues/${queue}`;
}

/** Sends a request, and reads the JSON of its answer. */
export function ask<T>(connection: Connection, path: string, request: Request = {}): Promise<T> {
  return connection.send(path, request, (response) => response.json() as Promise<T>);
}

/** The items of a list, page by page. */
export async function* itemsOf<T>(connection: Connection, path: string, query = ""): AsyncGenerator<T> {
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Page<T> = await ask(connection, `${path}?limit=200${query}${after}`);
    yield* page.items;
    cursor = page.next;
  } while (cursor !== null);
}
