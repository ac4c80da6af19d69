import type { Scope } from "../../auth/api-key.ts";

/** What a route asks for: nothing, any key, or a key with one of these scopes. `admin` may do everything and is not named. */
export interface Need {
  readonly scopes: readonly Scope[] | "any" | "none";
  /** The id of the task that the route reads: a signed link to it is enough. */
  readonly reads?: string;
}

interface Rule {
  readonly methods: readonly string[];
  readonly path: RegExp;
  readonly scopes: Need["scopes"];
  /** The first group of the path is the id of a task. */
  readonly linkable?: true;
}

const SUBMIT: readonly Scope[] = ["submit"];
const WATCH: readonly Scope[] = ["submit", "read"];
const WORK: readonly Scope[] = ["work"];
const ADMIN: readonly Scope[] = ["admin"];
const GET = ["GET"];
const POST = ["POST"];
const ANY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Every resource, in the order in which they are looked through. A path may end with a slash, as the router allows. */
const RULES: readonly Rule[] = (
  [
    [POST, "/v1/requests", SUBMIT],
    [POST, "/v1/queues/:name/(?:requests|batches)", SUBMIT],
    [["PUT"], "/v1/requests/:id", SUBMIT],
    [["PUT"], "/v1/queues/:name/requests/:id", SUBMIT],
    [["DELETE"], "/v1/requests/:id", SUBMIT],
    [GET, "/v1/requests/:id", WATCH, true],
    [GET, "/v1/requests/:id/(?:status|events)", WATCH, true],
    [GET, "/v1/queue/requests/:id", WATCH, true],
    [POST, "/v1/requests/:id/retry", ADMIN],
    [GET, "/v1/queues", "any"],
    [GET, "/v1/queues/:name", "any"],
    [GET, "/v1/queues/:name/(?:waiting|running|dead)", ADMIN],
    [["DELETE"], "/v1/queues/:name/dead", ADMIN],
    [POST, "/v1/queues/:name/(?:dead/retry|pause|resume)", ADMIN],
    [POST, "/v1/queues/:name/leases", WORK],
    [POST, "/v1/leases/:id/(?:renew|progress|complete|fail)", WORK],
    [ANY, "/v1/gateway/:name(?:/.*)?", SUBMIT],
    [GET, "/api/v1/task", SUBMIT],
    [["POST", "PUT", "DELETE"], "/api/v1/task/:id", SUBMIT],
    [GET, "/api/v1/task/:id", WATCH],
    [GET, "/metrics", ADMIN],
    [GET, "/dashboard(?:/.*)?", ADMIN],
    [GET, "/(?:healthz|readyz|openapi\\.json)", "none"],
    [GET, "/(?:docs|problems|pages)(?:/.*)?", "none"],
  ] as const
).map(([methods, path, scopes, linkable]) => ({
  methods,
  path: new RegExp(`^${path.replace(/\/:\w+/g, "/([^/]+)")}/?$`),
  scopes,
  ...(linkable ? { linkable } : {}),
}));

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);
/** What has effects whatever the method: a GET that allocates an id, and all that goes through a gateway. */
const EFFECTS = /^\/(?:api\/v1\/task\/?$|v1\/gateway\/)/;

/** Whether a request changes something, or may. A browser must not send it on behalf of another site's page. */
export function hasEffects(method: string, path: string): boolean {
  return !SAFE.has(method) || EFFECTS.test(path);
}

/** What a request asks for; undefined for what is not listed. */
export function needOf(method: string, path: string): Need | undefined {
  const asked = method === "HEAD" ? "GET" : method;
  for (const { methods, path: form, scopes, linkable } of RULES) {
    const match = methods.includes(asked) ? form.exec(path) : null;
    if (match) return { scopes, ...(linkable && match[1] !== undefined ? { reads: match[1] } : {}) };
  }
  return undefined;
}
