import type { Context } from "koa";
import type { Scope } from "../auth/api-key.ts";
import { GATEWAY_METHODS } from "../handler/gateway/request.ts";

/** The description of a route, without its endpoint. */
export interface Route {
  /** GET includes HEAD. */
  readonly methods: readonly string[];
  /** In the router's syntax: `:name` is one segment, `{*name}` any number of them. */
  readonly path: string;
  /** What it requires: nothing, any key, or a key with one of these scopes. `admin` may do everything and is not listed. */
  readonly scopes: readonly Scope[] | "any" | "none";
  /** A signed link to the task `:id` opens it without a key. */
  readonly signedLink?: true;
  /** Submits a task. Its id is the `:id` of the path, or comes from Idempotency-Key or X-Request-Id: see request-id.ts. */
  readonly submits?: "under the path's id" | "under the caller's key";
  /** Changes something, or may, although its method is a safe one. */
  readonly effects?: true;
  /** Further methods with the same requirements, which OpenAPI does not describe. */
  readonly alsoGuards?: readonly string[];
  /** Of another API, for its client libraries; served only where REPLICATE is set, and described by that API's documentation. */
  readonly dialect?: true;
  /** For people, or loaded by a page, so not described by OpenAPI. */
  readonly page?: true;
}

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
const DELETE = ["DELETE"] as const;
const KEY = "under the caller's key";
const PATH = "under the path's id";
const GATEWAY = {
  methods: GATEWAY_METHODS,
  scopes: SUBMIT,
  submits: KEY,
  effects: true,
  alsoGuards: ["OPTIONS"],
} as const;

/**
 * Every route, by its OpenAPI operationId. Its endpoint is the member of that name in `routes/`, and its description the one in
 * `openapi/`; the compiler holds both against this table.
 */
export const ROUTES = {
  submit: { methods: POST, path: "/v1/requests", scopes: SUBMIT, submits: KEY },
  submitTo: { methods: POST, path: "/v1/queues/:queue/requests", scopes: SUBMIT, submits: KEY },
  put: { methods: PUT, path: "/v1/requests/:id", scopes: SUBMIT, submits: PATH },
  putTo: { methods: PUT, path: "/v1/queues/:queue/requests/:id", scopes: SUBMIT, submits: PATH },
  collect: { methods: GET, path: "/v1/requests/:id", scopes: WATCH, signedLink: true },
  cancel: { methods: DELETE, path: "/v1/requests/:id", scopes: SUBMIT },
  submitBatch: { methods: POST, path: "/v1/queues/:queue/batches", scopes: SUBMIT },

  watch: { methods: GET, path: "/v1/requests/:id/status", scopes: WATCH, signedLink: true },
  watchQueue: { methods: GET, path: "/v1/queue/requests/:id", scopes: WATCH, signedLink: true },
  follow: { methods: GET, path: "/v1/requests/:id/events", scopes: WATCH, signedLink: true },
  output: { methods: GET, path: "/v1/requests/:id/output", scopes: WATCH, signedLink: true },
  input: { methods: GET, path: "/v1/requests/:id/input", scopes: WATCH },
  timeline: { methods: GET, path: "/v1/requests/:id/timeline", scopes: WATCH },
  retry: { methods: POST, path: "/v1/requests/:id/retry", scopes: ADMIN },

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

  gateway: { ...GATEWAY, path: "/v1/gateway/:queue" },
  gatewayPath: { ...GATEWAY, path: "/v1/gateway/:queue/{*path}" },

  allocate: { methods: GET, path: "/api/v1/task", scopes: SUBMIT, effects: true },
  postAllocated: { methods: POST, path: "/api/v1/task/:id", scopes: SUBMIT, submits: PATH },
  getAllocated: { methods: GET, path: "/api/v1/task/:id", scopes: WATCH },
  putAllocated: { methods: PUT, path: "/api/v1/task/:id", scopes: SUBMIT, submits: PATH },
  deleteAllocated: { methods: DELETE, path: "/api/v1/task/:id", scopes: SUBMIT },

  predict: { methods: POST, path: "/replicate/v1/predictions", scopes: SUBMIT, submits: KEY, dialect: true },
  predictWithModel: {
    methods: POST,
    path: "/replicate/v1/models/:owner/:name/predictions",
    scopes: SUBMIT,
    submits: KEY,
    dialect: true,
  },
  getPrediction: { methods: GET, path: "/replicate/v1/predictions/:id", scopes: WATCH, dialect: true },
  cancelPrediction: { methods: POST, path: "/replicate/v1/predictions/:id/cancel", scopes: SUBMIT, dialect: true },

  access: { methods: GET, path: "/v1/access", scopes: "any" },
  health: { methods: GET, path: "/healthz", scopes: "none" },
  readiness: { methods: GET, path: "/readyz", scopes: "none" },
  metrics: { methods: GET, path: "/metrics", scopes: ADMIN },
  openapi: { methods: GET, path: "/openapi.json", scopes: "none" },
  explain: { methods: GET, path: "/problems/:code", scopes: "none" },

  dashboard: { methods: GET, path: "/dashboard", scopes: READ, page: true },
  dashboardView: { methods: GET, path: "/dashboard/{*view}", scopes: READ, page: true },
  docs: { methods: GET, path: "/docs", scopes: "none", page: true },
  llms: { methods: GET, path: "/llms.txt", scopes: "none", page: true },
  docsFile: { methods: GET, path: "/docs/:name", scopes: "none", page: true },
  pageFile: { methods: GET, path: "/pages/{*path}", scopes: "none", page: true },
} as const satisfies Readonly<Record<string, Route>>;

/** What an orchestrator and Prometheus ask for all the time. */
export const PROBES: ReadonlySet<string> = new Set([ROUTES.health.path, ROUTES.readiness.path, ROUTES.metrics.path]);

export type RouteName = keyof typeof ROUTES;

/** The routes that OpenAPI describes. */
export type DescribedRoute = {
  [Name in RouteName]: (typeof ROUTES)[Name] extends { page: true } | { dialect: true } ? never : Name;
}[RouteName];

/** The route of a request; undefined if none has its method and path. */
export function routeOf({ routerName }: Context | { readonly routerName?: string }): Route | undefined {
  return routerName === undefined ? undefined : ROUTES[routerName as RouteName];
}

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request may change something. A browser must not send it on behalf of another site's page. */
export function hasEffects(ctx: Context): boolean {
  return !SAFE.has(ctx.method) || routeOf(ctx)?.effects === true;
}

/** What answers the requests of a route. */
type Endpoint = (ctx: Context) => Promise<void> | void;

/** The endpoints of some routes, by name. */
export type Endpoints<Name extends RouteName> = Readonly<Record<Name, Endpoint>>;

/** The methods of all routes. */
export const METHODS = GATEWAY_METHODS.join(", ");

/** A function that makes the paths of a route with one parameter, whose value must be safe in a path. */
export function pathTo(name: RouteName): (value: string, query?: string) => string {
  const [before = "", after = ""] = ROUTES[name].path.split(/:\w+/);
  return (value, query = "") => before + value + after + query;
}
