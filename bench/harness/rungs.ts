/** What a server of the ladder does, each beside everything before it. */
export const RUNGS = ["socket", "Koa", "router", "cls-rtracer", "body", "reply"] as const;
export type Rung = (typeof RUNGS)[number];
