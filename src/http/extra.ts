import type { Context } from "koa";
import type { ProblemError } from "../errors.ts";
import type { Api } from "./api.ts";
import type { Operations } from "./openapi/types.ts";
import type { Endpoints, Routes } from "./routes.ts";

/** Routes that are not needed to submit, run and watch tasks. Each extra has a folder of its own, and one line in extras.ts. */
export interface Extra<Own extends Routes = Routes> {
  readonly routes: Own;
  /** What answers them; none where they are not served. */
  endpoints(api: Api): Partial<Endpoints<keyof Own & string>>;
  /** How OpenAPI describes them, if it does; loaded when it is asked for. */
  operations?(): Promise<Operations<keyof Own & string>>;
  /** Answers a browser with a page in place of a problem; false if it has none for this request. */
  refuse?(ctx: Context, error: ProblemError, api: Api): boolean;
}
