import type { Extension } from "../../extension.ts";
import { gatewayRoutes } from "./routes.ts";

/** Existing HTTP APIs behind a queue. Its handlers are made by `defineGateway`. */
export const gateway: Extension = {
  start: () => ({
    routes: gatewayRoutes,
    tags: [{ name: "Gateway", description: "Existing HTTP APIs behind a line." }],
  }),
};
