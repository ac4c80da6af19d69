/** What the servers of the ladder do: each also does everything before it. */
export const RUNGS = ["socket", "Koa", "router", "correlation", "body", "reply"] as const;
export type Rung = (typeof RUNGS)[number];

/** What the last server of the ladder can do in the usual way instead of ours. */
export const USUAL = [
  "Koa's listeners on every response",
  "cls-rtracer's middleware",
  "raw-body",
  "ctx.set and JSON.stringify",
] as const;
export type Usual = (typeof USUAL)[number];
