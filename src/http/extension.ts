import type { Middleware } from "koa";
import type { Inspection } from "../engine/watch/inspect.ts";
import type { TaskDetails } from "../store/task/details.ts";
import type { Timeline } from "../wire/task.ts";
import type { Api } from "./api.ts";
import type { OpenGroup } from "./batches/batch-group.ts";
import type { DescribedExtension } from "./openapi/document.ts";
import type { Route } from "./route.ts";
import type { Pages } from "./shown-pages.ts";

/** The task of a timeline. */
export interface TimelineSubject {
  readonly seen: Inspection;
  readonly details: TaskDetails;
  /** Whether its reader may see workers and raw errors. */
  readonly all: boolean;
}

/** Members of a timeline that the core does not know. */
export interface TimelineMembers extends Partial<Pick<Timeline, "undo" | "webhooks">> {
  /** When its steps were undone. */
  readonly undoneAt?: string | null;
}

/** What an extension adds to the API. */
export interface ApiExtension extends DescribedExtension {
  routes?(api: Api): readonly Route[];
  /** The canonical URL of a webhook. @throws ProblemError invalid-parameter if it is not allowed */
  checkWebhook?(url: string): Promise<string>;
  readonly openGroup?: OpenGroup;
  readonly pages?: Pages;
  timeline?(api: Api, of: TimelineSubject): Promise<TimelineMembers>;
  /** Done around the answer to every request. */
  readonly around?: Middleware;
}
