import type { Middleware } from "koa";
import type { z } from "zod";
import type { Api } from "./api.ts";
import type { OpenApiDocument } from "./openapi/types.ts";
import type { Route } from "./route.ts";

/** What an extension adds to the API. */
export interface ApiExtension {
  routes?(api: Api): readonly Route[];
  /** What OpenAPI says of the tags of its routes. */
  readonly tags?: OpenApiDocument["tags"];
  /** What its routes answer with, by the names to which these refer. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
  /** Done around the answer to every request. */
  readonly around?: Middleware;
}
