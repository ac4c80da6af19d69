import type { Middleware } from "koa";
import type { Api } from "./api.ts";
import type { OpenGroup } from "./batches/batch-verdicts.ts";
import type { DescribedExtension } from "./openapi/document.ts";
import type { Route } from "./route.ts";
import type { Pages } from "./task/pages.ts";
import type { TimelineSource } from "./task/timeline.ts";

/** What an extension adds to the API. */
export interface ApiExtension extends DescribedExtension, TimelineSource {
  routes?(api: Api): readonly Route[];
  /** The canonical URL of a webhook. @throws ProblemError invalid-parameter if it is not allowed */
  checkWebhook?(url: string): Promise<string>;
  /** Groups of the tasks of batches. */
  readonly openGroup?: OpenGroup;
  /** What browsers get in place of documents. */
  readonly pages?: Pages;
  /** Done around the answer to every request. */
  readonly around?: Middleware;
}
