/** The page of a task: its output while it runs, and its result, within what pages of groups have, too. */

import { jsonLines, useOutputText } from "../output-text.js";
import { html, render, useEffect, useState } from "../preact.js";
import { follow, part } from "../ticket/ticket.js";
import { hasEnded } from "../ticket/ticket-words.ts";
import { isViewable, kindOf, useFetched, Value } from "../value.js";
import { taskWords } from "./task-words.ts";

/** @typedef {import("../../../../wire/task.ts").Task} Task */

const { output = "", result = "" } = part("content").dataset;

function Content() {
  const [task, setTask] = useState(/** @type {Task | null} */ (null));
  const { text, place } = useOutputText();
  const hasResult = task !== null && hasEnded(task) && taskWords(task).look === "succeeded";
  useEffect(() => {
    let isFirst = true;
    /** @param {Task} task */
    function onChange(task) {
      setTask(task);
      // No events bring the output of a task that had ended before.
      if (isFirst && hasEnded(task) && task.state !== "canceled") readOutput().catch(() => undefined);
      isFirst = false;
    }
    async function readOutput() {
      const response = await fetch(output, { headers: { Prefer: "wait=0" } });
      if (response.ok) for await (const line of jsonLines(response)) text.add(line);
    }
    follow({ wordsOf: taskWords, onChange, onOutput: (line) => text.add(line) });
  }, []);
  return html`
    ${
      !text.isEmpty &&
      html`
        <section id="output" class="shown">
          <h2 id="output-title">Output</h2>
          ${
            text.isCut &&
            html`<p id="output-cut">Only the end is shown. <a href=${output} rel="noreferrer">Open all of it</a></p>`
          }
          <pre id="output-text" tabindex="0" role="log" aria-live="off" aria-labelledby="output-title" ref=${place} />
        </section>`
    }
    ${hasResult && html`<${Result} />`}`;
}

/** A result, and the links to it. */
function Result() {
  const known = useFetched(true, () => fetch(result).then((response) => (response.ok ? response : Promise.reject())));
  if (known?.bytes === 0) return html`<p id="size" class="size">The task has no result to show.</p>`;
  const isShown = known?.text !== undefined || known?.picture !== undefined;
  return html`
    ${
      isShown &&
      html`
        <section id="shown" class="shown">
          <h2>Result</h2>
          <div id="shown-value"><${Value} known=${known} label="The result" otherwise="It cannot be shown here." /></div>
        </section>`
    }
    <p class="result">
      ${(!known || isViewable(known.mediaType)) && html`<a id="result" href=${result} rel="noreferrer">Open the result</a>`}
      ${known && html`<a id="download" class="second" href=${result} rel="noreferrer" download>Download</a>`}
    </p>
    <p id="size" class="size">${known && kindOf(known)}</p>`;
}

// What is there without a script is a link to the result.
part("content").replaceChildren();
render(html`<${Content} />`, part("content"));
