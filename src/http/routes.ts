import type { Context } from "koa";
import type { Scope } from "../auth/api-key.ts";
import type { LinkKind } from "../auth/link-signer.ts";

/** The description of a route, without its endpoint. */
export interface Route {
  /** GET includes HEAD. */
  readonly methods: readonly string[];
  /** In the router's syntax: `:name` is one segment, `{*name}` any number of them. */
  readonly path: string;
  /** What it requires: nothing, any API key, or one with one of these scopes. `admin` may do everything and is not listed. */
  readonly scopes: readonly Scope[] | "any" | "none";
  /** A signed link to the task or group `:id` opens it without an API key. */
  readonly signedLink?: LinkKind;
  /** Submits a task. Its id is the `:id` of the path, or comes from Idempotency-Key or X-Request-Id: see request-id.ts. */
  readonly submits?: "under the path's id" | "under the caller's key";
  /** It may change something, although its method is safe. */
  readonly effects?: true;
  /** More methods with the same requirements, which OpenAPI does not describe. */
  readonly otherMethods?: readonly string[];
  /** Its answer is that of another API, also to HEAD. */
  readonly forwards?: true;
}

/** Routes by name. Where OpenAPI describes one, its name is the operationId. */
export type Routes = Readonly<Record<string, Route>>;

/** The queue of routes that do not name one. */
export const DEFAULT_QUEUE = "default";

const SUBMIT = ["submit"] as const;
const WATCH = ["submit", "read"] as const;
const READ = ["read"] as const;
const WORK = ["work"] as const;
const ADMIN = ["admin"] as const;
const GET = ["GET"] as const;
const POST = ["POST"] as const;
const PUT = ["PUT"] as const;
const PATCH = ["PATCH"] as const;
const DELETE = ["DELETE"] as const;
const KEY = "under the caller's key";
const PATH = "under the path's id";

/**
 * The routes of the core; those of extras are in extras.ts. The endpoint of each is the member of that name in `routes/`, and its
 * description the one in `openapi/`; the compiler holds both against this table.
 */
export const ROUTES = {
  submit: { methods: POST, path: "/v1/requests", scopes: SUBMIT, submits: KEY },
  submitTo: { methods: POST, path: "/v1/queues/:queue/requests", scopes: SUBMIT, submits: KEY },
  put: { methods: PUT, path: "/v1/requests/:id", scopes: SUBMIT, submits: PATH },
  putTo: { methods: PUT, path: "/v1/queues/:queue/requests/:id", scopes: SUBMIT, submits: PATH },
  collect: { methods: GET, path: "/v1/requests/:id", scopes: WATCH, signedLink: "task" },
  cancel: { methods: DELETE, path: "/v1/requests/:id", scopes: SUBMIT },
  move: { methods: PATCH, path: "/v1/requests/:id", scopes: SUBMIT },
  again: { methods: POST, path: "/v1/requests/:id/again", scopes: SUBMIT, submits: KEY },
  submitBatch: { methods: POST, path: "/v1/queues/:queue/batches", scopes: SUBMIT },

  watch: { methods: GET, path: "/v1/requests/:id/status", scopes: WATCH, signedLink: "task" },
  watchQueue: { methods: GET, path: "/v1/queue/requests/:id", scopes: WATCH, signedLink: "task" },
  follow: { methods: GET, path: "/v1/requests/:id/events", scopes: WATCH, signedLink: "task" },
  output: { methods: GET, path: "/v1/requests/:id/output", scopes: WATCH, signedLink: "task" },
  input: { methods: GET, path: "/v1/requests/:id/input", scopes: WATCH },
  timeline: { methods: GET, path: "/v1/requests/:id/timeline", scopes: WATCH },
  retry: { methods: POST, path: "/v1/requests/:id/retry", scopes: ADMIN },

  group: { methods: GET, path: "/v1/groups/:id", scopes: WATCH, signedLink: "group" },
  groupEvents: { methods: GET, path: "/v1/groups/:id/events", scopes: WATCH, signedLink: "group" },
  groupResults: { methods: GET, path: "/v1/groups/:id/results", scopes: WATCH, signedLink: "group" },
  cancelGroup: { methods: DELETE, path: "/v1/groups/:id", scopes: SUBMIT },

  queues: { methods: GET, path: "/v1/queues", scopes: "any" },
  queue: { methods: GET, path: "/v1/queues/:queue", scopes: "any" },
  histories: { methods: GET, path: "/v1/history", scopes: "any" },
  history: { methods: GET, path: "/v1/queues/:queue/history", scopes: "any" },
  waiting: { methods: GET, path: "/v1/queues/:queue/waiting", scopes: READ },
  running: { methods: GET, path: "/v1/queues/:queue/running", scopes: READ },
  scheduled: { methods: GET, path: "/v1/queues/:queue/scheduled", scopes: READ },
  dead: { methods: GET, path: "/v1/queues/:queue/dead", scopes: READ },
  finished: { methods: GET, path: "/v1/queues/:queue/finished", scopes: READ },
  deleteDead: { methods: DELETE, path: "/v1/queues/:queue/dead", scopes: ADMIN },
  retryDead: { methods: POST, path: "/v1/queues/:queue/dead/retry", scopes: ADMIN },
  bulk: { methods: POST, path: "/v1/queues/:queue/bulk", scopes: ADMIN },
  pause: { methods: POST, path: "/v1/queues/:queue/pause", scopes: ADMIN },
  resume: { methods: POST, path: "/v1/queues/:queue/resume", scopes: ADMIN },

  workers: { methods: GET, path: "/v1/workers", scopes: READ },
  takeLease: { methods: POST, path: "/v1/queues/:queue/leases", scopes: WORK },
  renewLease: { methods: POST, path: "/v1/leases/:id/renew", scopes: WORK },
  progressLease: { methods: POST, path: "/v1/leases/:id/progress", scopes: WORK },
  writeLease: { methods: POST, path: "/v1/leases/:id/output", scopes: WORK },
  completeLease: { methods: POST, path: "/v1/leases/:id/complete", scopes: WORK },
  failLease: { methods: POST, path: "/v1/leases/:id/fail", scopes: WORK },

  access: { methods: GET, path: "/v1/access", scopes: "any" },
  health: { methods: GET, path: "/healthz", scopes: "none" },
  readiness: { methods: GET, path: "/readyz", scopes: "none" },
  metrics: { methods: GET, path: "/metrics", scopes: ADMIN },
  openapi: { methods: GET, path: "/openapi.json", scopes: "none" },
  explain: { methods: GET, path: "/problems/:code", scopes: "none" },
} as const satisfies Routes;

/** What orchestrators and Prometheus poll. */
export const PROBES: ReadonlySet<string> = new Set([ROUTES.health.path, ROUTES.readiness.path, ROUTES.metrics.path]);

export type RouteName = keyof typeof ROUTES;

/** The route of a request, as the router has noted it; undefined if none has its method and path. */
export function routeOf({ state }: { readonly state: { readonly route?: Route } }): Route | undefined {
  return state.route;
}

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request may change something. A browser must not send it on behalf of another site's page. */
export function hasEffects(ctx: Context): boolean {
  return !SAFE.has(ctx.method) || routeOf(ctx)?.effects === true;
}

/** Answers the requests of a route. */
type Endpoint = (ctx: Context) => Promise<void> | void;

/** The endpoints of some routes, by name. */
export type Endpoints<Name extends string> = Readonly<Record<Name, Endpoint>>;

/** The methods of all routes. */
export const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** A function that makes the paths of a route with one parameter, whose value must be safe in a path. */
export function pathTo({ path }: Route): (value: string, query?: string) => string {
  const [before = "", after = ""] = path.split(/:\w+/);
  return (value, query = "") => before + value + after + query;
}
