import type { Middleware } from "koa";
import type { Api } from "./api.ts";
import type { OpenGroup } from "./batches/batch-verdicts.ts";
import type { AnswerRequest } from "./middleware/request.ts";
import type { DescribedExtension } from "./openapi/document.ts";
import type { Route } from "./route.ts";
import type { HttpServer } from "./server/server.ts";
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
  /**
   * Further servers of a process that accepts tasks.
   * @param answering what every request of theirs passes, too, if they listen on this address; `setting` is what names it, for errors
   */
  doors?(api: Api, answering: (host: string, setting: string) => AnswerRequest): readonly Door[];
}

/** A further server. */
export interface Door {
  readonly server: HttpServer;
  /** Where it listens and what is behind it, for people; once it listens. */
  describe(): string;
}
