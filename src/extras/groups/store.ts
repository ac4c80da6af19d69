import type { LibraryPart } from "../../store/library/part.ts";
import * as verbs from "./verbs.ts";

/** The verbs on groups; what verbs on tasks do to the group of a member is in store/lua/group.lua. */
export const groupsPart: LibraryPart = {
  name: "groups",
  folder: new URL(".", import.meta.url),
  files: ["groups"],
  verbs,
};
