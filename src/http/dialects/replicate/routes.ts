import type { Routes } from "../../routes.ts";

const TASK = "/replicate/v1/predictions/:id";
const SUBMITTING = { methods: ["POST"], scopes: ["submit"], submits: "under the caller's key" } as const;

export const predictionRoutes = {
  predict: { ...SUBMITTING, path: "/replicate/v1/predictions" },
  predictWithModel: { ...SUBMITTING, path: "/replicate/v1/models/:owner/:name/predictions" },
  getPrediction: { methods: ["GET"], path: TASK, scopes: ["submit", "read"] },
  cancelPrediction: { methods: ["POST"], path: `${TASK}/cancel`, scopes: ["submit"] },
} as const satisfies Routes;
