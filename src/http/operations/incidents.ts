import type { Context } from "koa";
import { timestamp } from "../../wire/document.ts";
import type { Incidents } from "../../wire/operations.ts";
import type { Api } from "../api.ts";
import { json } from "../openapi/responses.ts";
import type { Route } from "../route.ts";

/** What is wrong with the deployment. */
export const incidentRoutes = (api: Api): readonly Route[] => [
  {
    name: "incidents",
    method: "GET",
    path: "/v1/incidents",
    scopes: "any",
    tag: "Operations",
    summary: "What is wrong now, in sentences: faults first, then what somebody wants so",
    description: "At most about six seconds old. Its beginning and its end are in `/v1/events`.",
    answers: { "200": json("The incidents; none if all is well.", "Incidents") },
    run: (ctx) => list(ctx, api),
  },
];

async function list(ctx: Context, { engine }: Api): Promise<void> {
  const faults = await engine.incidents.read();
  const items = faults.map(({ sinceMs, seenMs: _, told: __, ...fault }) => ({ ...fault, since: timestamp(sinceMs) }));
  ctx.body = { items } satisfies Incidents;
}
