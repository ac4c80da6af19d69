import type { Context } from "koa";
import type { Scope } from "../auth/api-key.ts";
import type { LinkKind } from "../auth/link-signer.ts";
import type { ProblemError } from "../errors.ts";
import type { Handler } from "../handler/define.ts";

type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/**
 * A route: which requests it gets, what these need, how they are described, and what answers them. The router, authorization,
 * limits, metrics and OpenAPI read it.
 */
export type Route = Served & (Described | { readonly summary?: undefined });

interface Served {
  /** Its name in the router, and the operationId of OpenAPI. */
  readonly name: string;
  /** GET includes HEAD. */
  readonly method: Method | readonly Method[];
  /** In the router's syntax: `:name` is one segment, `{*name}` any number of them. */
  readonly path: string;
  /** What it requires: nothing, any API key, or one with one of these scopes. `admin` may do everything and is not listed. */
  readonly scopes: readonly Scope[] | "any" | "none";
  /** A signed link to the task or group `:id` opens it without an API key. */
  readonly signedLink?: LinkKind;
  /** Submits a task. Its id is the `:id` of the path, or comes from Idempotency-Key or X-Request-Id: see request-id.ts; or nobody chooses it. */
  readonly submits?: "under the path's id" | "under the caller's key" | "under a new id";
  /** The header in which a caller may send its API key if Authorization is for somebody else, in lower case. */
  readonly keyHeader?: string;
  /** It may change something, although its method is safe. */
  readonly effects?: true;
  /** Its answer is that of another API, also to HEAD. */
  readonly forwards?: true;
  /** Who polls it: such requests say nothing about the load. */
  readonly polledBy?: "orchestrator" | "Prometheus";
  /** Answers. */
  run(ctx: Context): Promise<void> | void;
  /** Answers a browser with a page in place of a problem document; false if it has none for this one. */
  showProblem?(ctx: Context, error: ProblemError): boolean;
  /** Answers with a problem in another form than that of a problem document. */
  writeProblem?(ctx: Context, problem: ReplyProblem): void;
}

/** A problem document, with its status. */
export interface ReplyProblem {
  readonly status: number;
  readonly document: Readonly<Record<string, unknown>>;
}

/** How OpenAPI describes a route. What follows from {@link Served} is not repeated. */
interface Described {
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Without those of the path. */
  readonly parameters?: readonly Reference[];
  /** May depend on the handlers of the server. */
  readonly body?: RequestBody | ((handlers: readonly Handler[]) => RequestBody);
  /** By status. `default` is a problem document, unless given. */
  readonly answers: Answers;
}

/** A route that OpenAPI describes. */
export type DescribedRoute = Served & Described;

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>;

/** A reference to a component. A type alias, since an interface would not be assignable to {@link Schema}. */
export type Reference = { readonly $ref: string };

/** How OpenAPI describes a header of a response. */
export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
}

/** How it describes a response. */
export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

/** The responses of an operation, by status; `default` stands for all others. */
export type Answers = Readonly<Record<string, Response | Reference>>;

/** How it describes a parameter. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: unknown;
  readonly style?: string;
  readonly explode?: boolean;
}

/** How it describes the body of a request. */
export interface RequestBody {
  readonly description?: string;
  readonly required?: boolean;
  readonly content: Readonly<Record<string, MediaType>>;
}

/** The scopes of routes that submit; that watch a task; and so on. */
export const SUBMIT = ["submit"] as const satisfies readonly Scope[];
export const WATCH = ["submit", "read"] as const satisfies readonly Scope[];
export const READ = ["read"] as const satisfies readonly Scope[];
export const WORK = ["work"] as const satisfies readonly Scope[];
export const ADMIN = ["admin"] as const satisfies readonly Scope[];

/** The queue of routes that do not name one. */
export const DEFAULT_QUEUE = "default";

/** The route of a request, as the router has noted it; undefined if none has its method and path. */
export function routeOf({ state }: { readonly state: { readonly route?: Route } }): Route | undefined {
  return state.route;
}

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request may change something. A browser must not send it on behalf of another site's page. */
export function hasEffects(ctx: Context): boolean {
  return !SAFE.has(ctx.method) || routeOf(ctx)?.effects === true;
}

/** The methods of all routes. */
export const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** A function that makes paths of a route with one parameter, whose value must be safe in a path. */
export function pathTo(path: string): (value: string, query?: string) => string {
  const [before = "", after = ""] = path.split(/:\w+/);
  return (value, query = "") => before + value + after + query;
}
