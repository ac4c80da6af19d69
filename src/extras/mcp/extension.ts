import type { Extension } from "../../extension.ts";
import { mcpRoutes } from "./routes.ts";

/** Queues as tools of the Model Context Protocol. */
export const mcp: Extension = {
  start: ({ config }) =>
    config.mcp === "on"
      ? {
          routes: mcpRoutes,
          tags: [{ name: "MCP", description: "Queues as tools of models (Model Context Protocol)." }],
        }
      : {},
};
