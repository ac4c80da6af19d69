import type { Extension } from "../extension.ts";
import type { LibraryPart } from "../store/library/part.ts";
import { allocations } from "./allocations/allocations.ts";
import { gateway } from "./gateway/extension.ts";
import { groups } from "./groups/extension.ts";
import { pages } from "./pages/pages.ts";
import { replicate } from "./replicate/replicate.ts";
import { schedulesExtension } from "./schedules/extension.ts";
import { telemetry } from "./telemetry/telemetry.ts";
import { undo } from "./undo/undo.ts";
import { webhooks } from "./webhooks/webhooks.ts";

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
  schedulesExtension,
];

/** What extensions have in the store. */
export const partsOf = (extensions: readonly Extension[]): readonly LibraryPart[] =>
  extensions.flatMap(({ part }) => part ?? []);

/** What all have. */
export const PARTS = partsOf(EXTENSIONS);
