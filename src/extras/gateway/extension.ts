import type { Extension } from "../../extension.ts";
import { CircuitBreakers } from "./circuit-breakers.ts";
import { gatewayRoutes } from "./routes.ts";
import { gatewayPart } from "./store.ts";

/** Existing HTTP APIs behind a queue. Its handlers are made by `defineGateway`. */
export const gateway: Extension = {
  part: gatewayPart,
  start: () => ({
    routes: gatewayRoutes,
    tags: [{ name: "Gateway", description: "Existing HTTP APIs behind a line." }],
    opened: ({ leases, scripts, keys, events }) => {
      leases.gate = new CircuitBreakers(scripts, keys, events);
    },
  }),
};
