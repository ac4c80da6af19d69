/** Words that are followed live by a page: `npm run words`. Ctrl-C ends it. */
import { startDemo } from "./demo.ts";

const demo = await startDemo({ STORE: "embedded" });
console.log(`open ${demo.pageUrl} in a browser; the task server is ${demo.apiUrl}`);
