import type { Extension } from "../extension.ts";
import type { LibraryPart } from "../store/library/assemble.ts";
import { allocations } from "./allocations/extension.ts";
import { gateway } from "./gateway/extension.ts";
import { groups } from "./groups/extension.ts";
import { mcp } from "./mcp/extension.ts";
import { pages } from "./pages/extension.ts";
import { replicate } from "./replicate/extension.ts";
import { schedulesExtension } from "./schedules/extension.ts";
import { telemetry } from "./telemetry/extension.ts";
import { undo } from "./undo/extension.ts";
import { webhooks } from "./webhooks/extension.ts";

/** What a server has beside what it needs to run tasks. */
export const EXTENSIONS: readonly Extension[] = [
  telemetry,
  pages,
  groups,
  gateway,
  webhooks,
  undo,
  allocations,
  replicate,
  mcp,
  schedulesExtension,
];

/** What extensions have in the store. */
export const partsOf = (extensions: readonly Extension[]): readonly LibraryPart[] =>
  extensions.flatMap(({ part }) => part ?? []);

/** What all have. */
export const PARTS = partsOf(EXTENSIONS);
