import { json } from "../openapi/responses.ts";
import type { Route } from "../route.ts";
import { accessOf } from "../task/access.ts";

/** The caller, and what they may do. */
export const accessRoutes: readonly Route[] = [
  {
    name: "access",
    method: "GET",
    path: "/v1/access",
    scopes: "any",
    tag: "Operations",
    summary: "What the caller may do",
    answers: { "200": json("The name of the key, whether the server has keys, and what the caller may do.", "Access") },
    run: (ctx) => {
      const { caller, key, scopes } = accessOf(ctx);
      ctx.body = { caller, keys: key !== "off", scopes: [...scopes] };
    },
  },
];
