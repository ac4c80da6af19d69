/** The page of a group: what of it has failed, within what pages of tasks have, too. */

import { follow, part } from "../ticket/ticket.js";
import { groupWords } from "./group-words.ts";

/** How many failures the list is of, or is being read for; null before the first. */
let listed = /** @type {number | null} */ (null);

/** Takes the list from this page as the server writes it now. @param {import("../../../../wire/group.ts").Group} group */
async function onChange({ failed, links }) {
  const isKnown = listed === null || listed === failed;
  listed = failed;
  if (isKnown) return;
  const self = links.find(({ rel }) => rel === "self")?.href ?? "";
  const response = await fetch(self, { headers: { Accept: "text/html" }, cache: "no-store" });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (listed !== failed) return;
  part("failures").replaceChildren(...(page.getElementById("failures")?.childNodes ?? []));
}

// Without an answer the list stays as it is until the next failure.
follow({ wordsOf: groupWords, onChange: (group) => void onChange(group).catch(() => undefined) });
