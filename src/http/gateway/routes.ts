import { GATEWAY_METHODS } from "../../handler/gateway/request.ts";
import type { Routes } from "../routes.ts";

const FORWARDING = {
  methods: GATEWAY_METHODS,
  scopes: ["submit"],
  submits: "under the caller's key",
  effects: true,
  forwards: true,
  otherMethods: ["OPTIONS"],
} as const;

export const gatewayRoutes = {
  gateway: { ...FORWARDING, path: "/v1/gateway/:queue" },
  gatewayPath: { ...FORWARDING, path: "/v1/gateway/:queue/{*path}" },
} as const satisfies Routes;
