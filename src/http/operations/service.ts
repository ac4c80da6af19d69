import { Registry } from "prom-client";
import { timestamp } from "../../wire/document.ts";
import type { ApiKeys } from "../../wire/operations.ts";
import type { Api } from "../api.ts";
import { json } from "../openapi/responses.ts";
import { accessOf } from "../request/access.ts";
import { ADMIN, type Route } from "../route.ts";

/** Liveness, readiness, and metrics for Prometheus: all that a worker serves. */
export function probeRoutes(api: Pick<Api, "readiness" | "exposition" | "engine">): readonly Route[] {
  return [
    {
      name: "health",
      method: "GET",
      path: "/healthz",
      scopes: "none",
      polledBy: "orchestrator",
      tag: "Operations",
      summary: "Whether the process is alive",
      answers: { "200": json("The process is alive.", "Alive") },
      run: (ctx) => {
        ctx.body = { status: "ok" };
      },
    },
    {
      name: "readiness",
      method: "GET",
      path: "/readyz",
      scopes: "none",
      polledBy: "orchestrator",
      tag: "Operations",
      summary: "Whether the server can serve requests",
      answers: {
        "200": json("It can.", "Ready"),
        "503": json("It cannot, for these reasons.", "NotReady"),
      },
      run: async (ctx) => {
        const reasons = await api.readiness();
        ctx.status = reasons.length === 0 ? 200 : 503;
        if (reasons.length > 0) {
          ctx.body = { status: "not ready", reasons };
          return;
        }
        // Like a full queue, a full store refuses submissions alone: without the server nobody could collect or cancel, which makes room.
        const { fullStore } = api.engine.events;
        ctx.body = fullStore ? { status: "degraded", reasons: [fullStore] } : { status: "ready", reasons };
      },
    },
    {
      name: "metrics",
      method: "GET",
      path: "/metrics",
      scopes: ADMIN,
      polledBy: "Prometheus",
      tag: "Operations",
      summary: "Metrics for Prometheus",
      answers: { "200": { description: "The metrics.", content: { "text/plain": {} } } },
      run: async (ctx) => {
        ctx.body = await api.exposition();
        ctx.set("Content-Type", Registry.PROMETHEUS_CONTENT_TYPE);
      },
    },
  ];
}

/** The caller and what they may do; all keys, and when each was last used. */
export const accessRoutes = (api: Pick<Api, "keyUses">): readonly Route[] => [
  {
    name: "access",
    method: "GET",
    path: "/v1/access",
    scopes: "any",
    tag: "Operations",
    summary: "What the caller may do",
    answers: { "200": json("The name of the key, whether the server has keys, and what the caller may do.", "Access") },
    run: (ctx) => {
      const { caller, key, scopes } = accessOf(ctx);
      ctx.body = { caller, keys: key !== "off", scopes: [...scopes] };
    },
  },
  {
    name: "keys",
    method: "GET",
    path: "/v1/keys",
    scopes: ADMIN,
    tag: "Operations",
    summary: "The API keys of the server, and when each was last used",
    answers: { "200": json("The keys, without their hashes.", "ApiKeys") },
    run: async (ctx) => {
      const keys = (await api.keyUses?.list()) ?? [];
      const items = keys.map(({ key: { name, scopes, expiresMs }, lastUsedMs }) => ({
        ...{ name, scopes: [...scopes] },
        expiresAt: expiresMs === undefined ? null : timestamp(expiresMs),
        lastUsedAt: lastUsedMs === undefined ? null : timestamp(lastUsedMs),
      }));
      ctx.body = { items } satisfies ApiKeys;
    },
  },
];
