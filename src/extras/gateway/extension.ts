import type { Extension } from "../../extension.ts";
import { firstOf } from "../../store/fields.ts";
import type { LibraryPart } from "../../store/library/assemble.ts";
import { CircuitBreakers } from "./circuit-breakers.ts";
import { openDoor } from "./door/door.ts";
import { isGateway } from "./gateway.ts";
import { gatewayRoutes } from "./routes.ts";
import * as verbs from "./verbs.ts";

/** The fields of a queue that a circuit breaker has beside `rest` of the core. */
export const BREAKER_FIELDS = {
  failures: ["failures", "references of the latest consecutive failures of its target, with a space between"],
  probe: ["probe", "until when the current probe counts if it is not renewed, ms, and which request took it"],
  breakerClosed: ["restEnded", "the probe that closed the circuit breaker last"],
} as const;

/** The constants of circuit breakers; its Lua file writes `C.breakerFailures`. */
export const BREAKER = {
  /** After this many consecutive failures of its target, the circuit breaker of a queue opens. */
  breakerFailures: 5,
  /** When an open circuit breaker is half-open for the first time, ms; the time doubles with each failed probe. */
  firstProbeMs: 1000,
  longestProbeMs: 60_000,
} as const;

const part: LibraryPart = {
  name: "gateway",
  folder: new URL(".", import.meta.url),
  files: ["verbs"],
  verbs,
  tables: { Q: firstOf(BREAKER_FIELDS), C: BREAKER },
};

/** Existing HTTP APIs behind a queue. Its handlers are made by `defineGateway`. */
export const gateway: Extension = {
  part,
  start: ({ handlers }) => {
    let breakers: CircuitBreakers;
    return {
      routes: gatewayRoutes,
      tags: [{ name: "Gateway", description: "Existing HTTP APIs behind a line." }],
      opened: ({ leases, scripts, keys, events }) => {
        breakers = new CircuitBreakers(scripts, keys, events);
        leases.gate = breakers;
      },
      doors: (api, answering) =>
        [...handlers.values()].flatMap((handler) =>
          isGateway(handler) && handler.door
            ? openDoor({ api, breakers, answering, gateway: handler, door: handler.door })
            : [],
        ),
    };
  },
};
