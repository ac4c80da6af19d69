import Router from "@koa/router";
import type { Middleware } from "koa";
import type { Route } from "./route.ts";

/**
 * Routes requests.
 * @param before the middleware that every request passes first, once its route is known
 */
export function routerOf(routes: readonly Route[], before: readonly Middleware[] = []): Router {
  const router = new Router({ sensitive: true });
  for (const route of routes) {
    const note: Middleware = (ctx, next) => {
      ctx.state.route = route;
      return next();
    };
    const { name, path, run } = route;
    router.register(path, [route.method].flat(), [note, ...before, run], { name });
  }
  return router;
}
