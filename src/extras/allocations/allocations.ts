import type { Extension } from "../../extension.ts";
import { allocationRoutes } from "./routes.ts";
import { allocationsPart } from "./store.ts";
import { allocatedResult, allocatedTask, allocation } from "./wire.ts";

/** The dialect in which the server allocates the id of a task before its input is submitted. */
export const allocations: Extension = {
  part: allocationsPart,
  start: () => ({
    routes: allocationRoutes,
    tags: [{ name: "Allocated ids", description: "The dialect in which the server allocates the id first." }],
    schemas: { Allocation: allocation, AllocatedTask: allocatedTask, AllocatedResult: allocatedResult },
  }),
};
