import { startsOf } from "../../store/keys.ts";
import type { LibraryPart } from "../../store/library/part.ts";
import * as verbs from "./verbs.ts";

/** The keys of allocated ids; their places in line are kept by those of the core. */
export const ALLOCATION_KEYS = {
  allocation: ["i:<id>", "string", "an id allocated for a future task: JSON of queue and caller; PX"],
} as const;

/** What allocated ids are in the store. */
export const allocationsPart: LibraryPart = {
  name: "allocations",
  folder: new URL(".", import.meta.url),
  files: ["allocation"],
  verbs,
  tables: { P: startsOf(ALLOCATION_KEYS) },
};
