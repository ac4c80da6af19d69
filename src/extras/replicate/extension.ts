import type { Extension } from "../../extension.ts";
import { predictionRoutes } from "./routes.ts";

/** The dialect of Replicate's HTTP API, if it is turned on. */
export const replicate: Extension = {
  start: ({ config }) => (config.replicate ? { routes: predictionRoutes } : {}),
};
