import { allocations } from "./dialects/allocations/allocations.ts";
import { predictions } from "./dialects/replicate/predictions.ts";
import type { Extra } from "./extra.ts";
import { gateway } from "./gateway/gateway.ts";
import { pages } from "./pages/pages.ts";

/** The extras of the server; see `src/extras.ts` for those that are not about HTTP. */
export const EXTRAS: readonly Extra[] = [gateway, allocations, predictions, pages];
