/** The page at the root: where the shipped handler runs, its button makes a line and opens the page of the last task in it. */

import { prefix } from "../server.js";

const TASKS = 12;
const INPUT = { seconds: 3 };

const form = /** @type {HTMLButtonElement} */ (document.getElementById("form"));
const told = /** @type {HTMLElement} */ (document.getElementById("told"));

/** Submits a task without waiting for it; returns the address of its page. */
async function submit() {
  const response = await fetch(`${prefix}/v1/requests`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Prefer: "respond-async" },
    body: JSON.stringify(INPUT),
  });
  if (response.status !== 202) throw new Error(`The server answered ${response.status}.`);
  return response.headers.get("Location") ?? "";
}

form.addEventListener("click", async () => {
  form.disabled = true;
  // Opened at once: a browser allows that only while it handles the click.
  const beside = window.open("", "_blank");
  try {
    let last = "";
    for (let count = 0; count < TASKS; count += 1) last = await submit();
    told.textContent = `${TASKS} tasks of ${INPUT.seconds} s wait for their turns. `;
    const link = document.createElement("a");
    link.href = last;
    link.textContent = "The last one";
    told.append(link);
    if (beside) beside.location.href = last;
  } catch (error) {
    beside?.close();
    told.textContent = error instanceof Error ? error.message : String(error);
  }
  form.disabled = false;
});

// Only the shipped handler of this queue counts seconds. With API keys this page may not ask, and has no button.
const queue = await fetch(`${prefix}/v1/queues/default`);
if (queue.ok) form.hidden = (await queue.json()).input?.properties?.seconds === undefined;
