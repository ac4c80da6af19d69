/** The form that submits a task: its input as JSON, begun by the schema of the queue, or a file. */

import { sampleOf } from "../../../../../words/sample.ts";
import { html, useLayoutEffect, useRef, useState } from "../../preact.js";
import { prefix } from "../../server.js";
import { indented } from "../../value.js";
import { paths } from "../address.js";
import { errorOf, messageOf, ServerError, send } from "../api.js";
import { useDesk } from "../desk.js";

/** @typedef {import("../api.js").Queue} Queue */

const PRIORITIES = ["0 (first)", "1", "2", "3 (default)", "4", "5", "6", "7 (last)"];

/**
 * @typedef {object} Original a task that is submitted again
 * @property {string} id
 * @property {string | null} json its input as it was submitted; null if that is no longer kept, or not JSON
 * @property {number} priority
 */

/** What is wrong, in one text. @param {unknown} error */
function troubleOf(error) {
  const errors = error instanceof ServerError ? error.problem.errors : undefined;
  if (!Array.isArray(errors)) return messageOf(error);
  return errors.map(({ pointer, detail }) => `${pointer}: ${detail}`).join("; ");
}

/** @param {Queue} queue @param {Original | null} original */
function nameOf({ name, turns }, original) {
  if (original) return `Run ${original.id} again`;
  return turns ? `Take a number of ${name}` : `Submit a task to ${name}`;
}

/** @param {{ queue: Queue, isOpen: boolean, onClose: () => void, original?: Original | null }} props */
export function Submission({ queue, isOpen, onClose, original = null }) {
  const desk = useDesk();
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const textArea = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [begun] = useState(() => indented(original?.json ?? JSON.stringify(sampleOf(queue.input ?? {}))));
  const [trouble, setTrouble] = useState("");
  const [submitted, setSubmitted] = useState(/** @type {{ id: string, index: number | null } | null} */ (null));
  // Who takes a number need not say more than what it is for.
  const isBare = queue.turns !== null && queue.input === null;
  const takesJson = queue.consumes.some((type) => /json|^\*\/\*$/.test(type));

  useLayoutEffect(() => {
    setSubmitted(null);
    const first = form.current?.querySelector("input, textarea");
    if (isOpen && first instanceof HTMLElement) first.focus();
  }, [isOpen]);

  /** What is sent; null for nothing: then the task gets the input of the original. @param {FormData} data */
  function bodyOf(data) {
    const file = data.get("file");
    if (file instanceof File) return original && file.size === 0 ? null : file;
    if (isBare) return null;
    // Not from the form's data, which changes line breaks.
    return textArea.current?.value ?? "";
  }

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const data = new FormData(event.target);
    const priority = String(data.get("priority") ?? "");
    const query = new URLSearchParams();
    for (const name of ["delay", "label"]) {
      const value = String(data.get(name) ?? "").trim();
      if (value !== "") query.set(name, value);
    }
    const path = original
      ? `/v1/requests/${encodeURIComponent(original.id)}/again`
      : `/v1/queues/${encodeURIComponent(queue.name)}/requests`;
    const body = bodyOf(data);
    const type = body instanceof File ? body.type || "application/octet-stream" : "application/json";
    const headers = {
      ...(body !== null && { "Content-Type": type }),
      Prefer: "respond-async",
      ...(priority === "" ? {} : { Priority: `u=${priority}` }),
    };
    try {
      const answer = await send(`${path}${query.size > 0 ? `?${query}` : ""}`, {
        method: "POST",
        headers,
        ...(body !== null && { body }),
      });
      if (!answer.ok) throw await errorOf(answer);
      setSubmitted(await answer.json());
      setTrouble("");
      desk.refresh();
    } catch (error) {
      setSubmitted(null);
      setTrouble(troubleOf(error));
    }
  }

  const file = () => html`
    <div class="field">
      <label for="submission-file">File (${queue.consumes.join(", ")})${original && html`<span class="hint"> optional: otherwise the same</span>`}</label>
      <input id="submission-file" type="file" name="file" required=${!original} accept=${queue.consumes.join(",")} />
    </div>`;
  const label = () => html`
    <div class="field">
      <label for="submission-label">What it is for<span class="hint"> optional</span></label>
      <input id="submission-label" name="label" maxlength="64" autocomplete="off" aria-describedby="submission-trouble" />
    </div>`;
  const json = () => html`
    <div class="field">
      <label for="submission-json">Input, as JSON</label>
      <textarea id="submission-json" ref=${textArea} rows=${Math.min(20, Math.max(6, begun.split("\n").length))} required spellcheck=${false} defaultValue=${begun}
        aria-invalid=${trouble === "" ? null : "true"} aria-describedby="submission-trouble" />
      ${queue.input && html`<details><summary>What the queue accepts</summary><pre>${JSON.stringify(queue.input, null, 2)}</pre></details>`}
    </div>`;

  return html`
    <form id="submission" ref=${form} hidden=${!isOpen} class="panel submission" aria-label=${nameOf(queue, original)}
      onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && onClose()}>
      ${isBare ? label() : takesJson ? json() : file()}
      <div class="fields options">
        <div class="field">
          <label for="submission-priority">Priority</label>
          <select id="submission-priority" name="priority">
            ${PRIORITIES.map((text, i) => html`<option value=${i} selected=${i === (original?.priority ?? 3)}>${text}</option>`)}
          </select>
        </div>
        <div class="field">
          <label for="submission-delay">Delay<span class="hint"> seconds, optional</span></label>
          <input id="submission-delay" name="delay" type="number" min="0" step="1" />
        </div>
      </div>
      <p class="bad" id="submission-trouble" role="alert">${trouble}</p>
      <p role="status">
        ${
          submitted &&
          html`
            Submitted as <a href=${paths.task(submitted.id)} class="id inline">${submitted.id}</a>${submitted.index === null ? "." : `, place ${submitted.index + 1}.`}
            ${queue.turns && html` Keep <a class="inline" href="${prefix}/v1/requests/${submitted.id}/status" target="_blank" rel="noopener">its page</a> open: a turn that nobody looks at is given up.`}`
        }
      </p>
      <div class="buttons">
        <button type="submit" class="primary">${queue.turns ? "Take a number" : "Submit"}</button>
        <button type="button" onClick=${onClose}>Close</button>
      </div>
    </form>`;
}
