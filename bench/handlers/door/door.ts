import { defineGateway } from "../../../src/index.ts";

/** An API of the benchmark behind a door, with a slot for every caller. */
export const api = defineGateway({
  queue: "api",
  target: `http://127.0.0.1:${process.env.BENCH_API_PORT ?? 9}`,
  listen: Number(process.env.BENCH_DOOR_PORT ?? 0),
  slots: 100,
});
