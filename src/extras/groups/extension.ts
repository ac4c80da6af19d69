import type { Extension } from "../../extension.ts";
import { group, groupResult } from "../../wire/group.ts";
import { openGroup } from "./batch-group.ts";
import { groupRoutes } from "./routes.ts";
import { groupsPart } from "./store.ts";

/** One number for many tasks. */
export const groups: Extension = {
  part: groupsPart,
  start: () => ({
    routes: groupRoutes,
    openGroup,
    tags: [{ name: "Groups", description: "Many tasks with one number." }],
    schemas: { Group: group, GroupResult: groupResult },
  }),
};
