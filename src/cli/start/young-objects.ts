import { setFlagsFromString } from "node:v8";

/**
 * Lets V8 create all objects in the young generation. When load begins, requests that wait for the store survive the first collections, which
 * come soon after each other, and V8 concludes that objects of their kind live long. It then creates these in the old generation, where each
 * keeps its request alive until a major collection. `npm run bench -- where` shows the time of garbage collection; `npm run bench -- sustained`
 * shows the latency without that.
 */
export function keepObjectsYoung(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}
