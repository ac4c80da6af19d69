/** A server that makes thumbnails: `npx tsx examples/02-thumbnails/main.ts`. Ctrl-C ends it. */
import { start } from "paihao";

const handlers = `${import.meta.dirname}/handlers`;
const server = await start({ handlers, port: 0, store: "embedded", maxBody: "32mb", logLevel: "warn" });
process.once("SIGINT", () => void server.stop());
console.log(`try: curl -X POST '${server.url}/v1/queues/thumbnails/requests?width=200' \\
  -H 'Content-Type: image/png' --data-binary @picture.png -o small.webp`);
