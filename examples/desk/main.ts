/** A desk with a line of people: `npx tsx examples/desk/main.ts`. Ctrl-C ends it. */
import { openDesk } from "./desk.ts";

const desk = await openDesk({ store: "embedded" });
console.log(`open ${desk.url} for each visitor, and ${desk.url}/clerk at the desk`);
