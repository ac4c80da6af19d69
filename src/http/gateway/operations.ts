import { submitted } from "../openapi/operations/tasks.ts";
import { submitParameters } from "../openapi/parameters.ts";
import { problems, problemsBesideResults } from "../openapi/responses.ts";
import type { Operations, OperationText } from "../openapi/types.ts";
import type { gatewayRoutes } from "./routes.ts";

const gateway: OperationText = {
  summary: "Forward the request when its turn comes; the response is the result",
  description:
    "A POST or PATCH without an Idempotency-Key is sent to the target at most once; if it does not respond: 502 with `mayHaveBeenCarriedOut`. A path with a segment `..`, in any form, is refused.",
  tags: ["Gateway"],
  parameters: submitParameters((parameter) => parameter.in === "header"),
  requestBody: { content: { "*/*": {} } },
  responses: {
    ...submitted,
    ...problemsBesideResults("queue-paused", "queue-full", "not-durable"),
    ...{ "405": problems("method-not-allowed")["405"] ?? { description: "" } },
  },
};

export const gatewayOperations: Operations<keyof typeof gatewayRoutes> = { gateway, gatewayPath: gateway };
