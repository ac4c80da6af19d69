/** The page of a task: its output while it runs, and its result, within what pages of groups have, too. */

import { jsonLines, useOutputText } from "../output-text.js";
import { html, render, useEffect, useState } from "../preact.js";
import { now } from "../server.js";
import { follow, part } from "../ticket/ticket.js";
import { hasEnded } from "../ticket/ticket-words.ts";
import { isViewable, kindOf, useFetched, Value } from "../value.js";
import { prepareAttention } from "./attention.js";
import { taskWords } from "./task-words.ts";

/** @typedef {import("../../../../wire/task.ts").Task} Task */

const { output = "", result = "" } = part("content").dataset;
const { turns, support = "" } = part("ticket").dataset;
const isTurn = turns === "true";

/** @param {Task} task @param {number} [agoS] */
const wordsOf = (task, agoS = 0) => taskWords(task, { isTurn, support, agoS, now: now() });

function Content() {
  const [task, setTask] = useState(/** @type {Task | null} */ (null));
  const { text, place } = useOutputText();
  const hasResult = task !== null && hasEnded(task) && wordsOf(task).look === "succeeded";
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
    follow({ wordsOf, onChange, onOutput: (line) => text.add(line) });
  }, []);
  return html`
    ${isTurn && task !== null && !hasEnded(task) && html`<${Attention} task=${task} />`}
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

/** The offer to tell when the turn has come, and the telling. @param {{ task: Task }} props */
function Attention({ task }) {
  /** What tells it, once somebody has asked for that. */
  const [tell, setTell] = useState({ call: /** @type {Awaited<ReturnType<typeof prepareAttention>> | null} */ (null) });
  const [told, setTold] = useState("");
  const isCalled = task.turn !== undefined;
  useEffect(() => {
    if (isCalled) tell.call?.(wordsOf(task).headline, task.label ?? task.queue);
  }, [isCalled, tell]);
  if (isCalled) return null;
  const whose = task.actions.includes("cancel") ? "my" : "their";
  async function prepare() {
    setTold("You will hear this sound when the turn has come. Keep this page open.");
    try {
      setTell({ call: await prepareAttention() });
    } catch {
      setTold("This browser cannot play a sound. The title of this page will say when the turn has come.");
    }
  }
  return html`
    ${told === "" && html`<p class="actions"><button id="tell" type="button" onClick=${prepare}>Tell me when it is ${whose} turn</button></p>`}
    <p id="tell-told" class="told" role="status">${told}</p>`;
}

/** A result, and the links to it. */
function Result() {
  const known = useFetched(true, () => fetch(result).then((response) => (response.ok ? response : Promise.reject())));
  // Most turns leave nothing.
  if (isTurn && (!known || known.bytes === 0)) return null;
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
      ${known && html`<a id="download" class="second" href=${result} rel="noreferrer" download="">Download</a>`}
    </p>
    <p id="size" class="size">${known && kindOf(known)}</p>`;
}

// What is there without a script is a link to the result.
part("content").replaceChildren();
render(html`<${Content} />`, part("content"));
