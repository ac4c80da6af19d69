import type { Extension } from "../../extension.ts";
import type { LibraryPart } from "../../store/library/assemble.ts";
import { group, groupResult } from "../../wire/group.ts";
import { openGroup } from "./batch-group.ts";
import { groupRoutes } from "./routes.ts";
import * as verbs from "./verbs.ts";

/**
 * The verbs on groups. What verbs on tasks do to the group of a member, and when a group is complete, is in the core: store/group/group.lua.
 */
const part: LibraryPart = { name: "groups", folder: new URL(".", import.meta.url), files: ["verbs"], verbs };

/** One number for many tasks. */
export const groups: Extension = {
  part,
  start: () => ({
    routes: groupRoutes,
    openGroup,
    tags: [{ name: "Groups", description: "Many tasks with one number." }],
    schemas: { Group: group, GroupResult: groupResult },
  }),
};
