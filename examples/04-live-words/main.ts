/** Words that are followed live by a page: `npx tsx examples/04-live-words/main.ts`. Ctrl-C ends it. */
import { startDemo } from "./demo.ts";

const demo = await startDemo({ store: "embedded" });
console.log(`open ${demo.pageUrl} in a browser; the task server is ${demo.apiUrl}`);
