import type { Context } from "koa";
import { pathToRegexp } from "path-to-regexp";
import { ROUTES, type Route } from "./routes.ts";

/** How paths are compared, here and by the routers. */
export const PATH_OPTIONS = { sensitive: true } as const;

/** A request's route, with the parameters of its path. A class, since a closure for each request would cost more. */
class RouteMatch {
  readonly route: Route;
  readonly #captures: readonly string[];
  readonly #names: readonly string[];

  constructor(route: Route, captures: readonly string[], names: readonly string[]) {
    this.route = route;
    this.#captures = captures;
    this.#names = names;
  }

  /** A parameter, decoded. If it cannot be decoded it is returned unchanged; the router refuses such a path. */
  param(name: "id" | "queue"): string | undefined {
    return decoded(this.#captures[this.#names.indexOf(name)]);
  }
}

type FindRoute = (method: string, path: string) => RouteMatch | undefined;

/** Finds the route of a request among some of the table, by the same expressions as the router: both see the same paths. */
export function routeFinder(among: (route: Route) => boolean): FindRoute {
  const byMethod = new Map<string, { route: Route; regexp: RegExp; names: readonly string[] }[]>();
  for (const route of Object.values<Route>(ROUTES).filter(among)) {
    const { regexp, keys } = pathToRegexp(route.path, PATH_OPTIONS);
    const candidate = { route, regexp, names: ["", ...keys.map(({ name }) => name)] };
    const methods = new Set([...route.methods, ...(route.alsoGuards ?? [])]);
    if (methods.has("GET")) methods.add("HEAD");
    for (const method of methods) byMethod.set(method, [...(byMethod.get(method) ?? []), candidate]);
  }
  return (method, path) => {
    const candidates = byMethod.get(method);
    if (!candidates) return undefined;
    for (const { route, regexp, names } of candidates) {
      const match = regexp.exec(path);
      if (match) return new RouteMatch(route, match, names);
    }
    return undefined;
  };
}

/** The route of a request; undefined if no route has its method and path. */
export const findRoute = routeFinder(() => true);

/** The path of the route of a request, with names for what varies; "" if it has none. Noted by the router, if it came that far. */
export function routeOf(ctx: Pick<Context, "state" | "method" | "path">): string {
  return (ctx.state.route as string | undefined) ?? findRoute(ctx.method, ctx.path)?.route.path ?? "";
}

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a request may change something. A browser must not send it on behalf of another site's page. */
export function hasEffects(method: string, path: string): boolean {
  return !SAFE.has(method) || findRoute(method, path)?.route.effects === true;
}

function decoded(segment: string | undefined): string | undefined {
  if (!segment?.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
