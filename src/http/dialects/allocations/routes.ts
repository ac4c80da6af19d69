import type { Routes } from "../../routes.ts";

const TASK = "/api/v1/task/:id";
const SUBMIT = ["submit"] as const;

export const allocationRoutes = {
  allocate: { methods: ["GET"], path: "/api/v1/task", scopes: SUBMIT, effects: true },
  postAllocated: { methods: ["POST"], path: TASK, scopes: SUBMIT, submits: "under the path's id" },
  getAllocated: { methods: ["GET"], path: TASK, scopes: ["submit", "read"] },
  putAllocated: { methods: ["PUT"], path: TASK, scopes: SUBMIT, submits: "under the path's id" },
  deleteAllocated: { methods: ["DELETE"], path: TASK, scopes: SUBMIT },
} as const satisfies Routes;
