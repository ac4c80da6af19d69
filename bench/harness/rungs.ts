/** What a server of the ladder does, each beside everything before it. */
export const RUNGS = ["socket", "Koa", "router", "correlation", "body", "reply"] as const;
export type Rung = (typeof RUNGS)[number];

/** What a server at the top of the ladder can do in the usual way instead of ours. */
export const USUAL = [
  "Koa's listeners on every response",
  "cls-rtracer's middleware",
  "raw-body",
  "ctx.set and JSON.stringify",
] as const;
export type Usual = (typeof USUAL)[number];
