import type { Extension } from "../../extension.ts";
import { startsOf } from "../../store/keys.ts";
import type { LibraryPart } from "../../store/library/assemble.ts";
import { allocatedResult, allocatedTask, allocation } from "./allocated-document.ts";
import { allocationRoutes } from "./routes.ts";
import * as verbs from "./verbs.ts";

/** The keys of allocated ids; their places in line are kept by those of the core. */
export const ALLOCATION_KEYS = {
  allocation: ["i:<id>", "string", "an id allocated for a future task: JSON of queue and caller; PX"],
} as const;

const part: LibraryPart = {
  name: "allocations",
  folder: new URL(".", import.meta.url),
  files: ["verbs"],
  verbs,
  tables: { P: startsOf(ALLOCATION_KEYS) },
};

/** The dialect in which the server allocates the id of a task before its input is submitted. */
export const allocations: Extension = {
  part,
  start: () => ({
    routes: allocationRoutes,
    tags: [{ name: "Allocated ids", description: "The dialect in which the server allocates the id first." }],
    schemas: { Allocation: allocation, AllocatedTask: allocatedTask, AllocatedResult: allocatedResult },
  }),
};
