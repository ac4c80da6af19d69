/** The form that submits a task: made of the schema of the queue, or JSON, or a file. */

import { html, useLayoutEffect, useRef, useState } from "../../preact.js";
import { paths } from "../address.js";
import { errorOf, messageOf, ServerError, send } from "../api.js";
import { useDesk } from "../desk.js";
import { isObject, NoJson, parse, textOf } from "./json.js";
import { FieldError, formFields, formValue, isForm } from "./schema-form.js";

/** @typedef {import("../api.js").Queue} Queue */

const PRIORITIES = ["0 (first)", "1", "2", "3 (default)", "4", "5", "6", "7 (last)"];
/** @type {{ errors: ReadonlyMap<string, string>, text: string }} by JSON pointer, and in all */
const NO_TROUBLE = { errors: new Map(), text: "" };

/**
 * @typedef {object} Original a task that is submitted again
 * @property {string} id
 * @property {string | null} json its input as it was submitted; null if that is no longer kept, or not JSON
 * @property {number} priority
 */

/** What the form begins with. @param {Original | null} original */
function draftOf(original) {
  const text = original?.json ?? "{}";
  const value = parse(text);
  return isObject(value)
    ? { value, text: original ? textOf(value, 2) : text, isForm: true }
    : { value: {}, text, isForm: false };
}

/** @param {{ queue: Queue, isOpen: boolean, onClose: () => void, original?: Original | null }} props */
export function Submission({ queue, isOpen, onClose, original = null }) {
  const desk = useDesk();
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const textArea = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const [isJson, setJson] = useState(() => !draftOf(original).isForm);
  /** The value when the form last changed between fields and JSON, and its text as it was typed. */
  const [draft, setDraft] = useState(
    () => /** @type {{ value: Record<string, unknown>, text: string }} */ (draftOf(original)),
  );
  const [trouble, setTrouble] = useState(NO_TROUBLE);
  const [submitted, setSubmitted] = useState(/** @type {{ id: string, index: number | null } | null} */ (null));
  const takesJson = queue.consumes.some((type) => /json|^\*\/\*$/.test(type));
  const canBeForm = takesJson && isForm(queue.input);
  const schema = canBeForm && !isJson ? queue.input : null;

  useLayoutEffect(() => {
    setSubmitted(null);
    const first = form.current?.querySelector("input, textarea, select");
    if (isOpen && first instanceof HTMLElement) first.focus();
  }, [isOpen]);

  // Not from the form's data, which changes line breaks.
  const typedText = () => textArea.current?.value ?? "";

  /** @param {HTMLFormElement} form @throws {FieldError | NoJson} */
  function bodyOf(form) {
    const file = new FormData(form).get("file");
    // Without one, the task gets the input of the original.
    if (file instanceof File) return original && file.size === 0 ? null : file;
    if (schema) return textOf(formValue(schema, form, draft.value));
    parse(typedText());
    return typedText();
  }

  /**
   * Says what is wrong, and marks the field if it is about what was entered.
   * @param {unknown} error
   * @param {string} [otherwise] what is said instead if a field is marked
   */
  function tell(error, otherwise) {
    /** @type {Map<string, string>} */
    const errors = new Map();
    if (error instanceof FieldError) errors.set(error.pointer, error.message);
    if (error instanceof NoJson) {
      errors.set("", error.message);
      textArea.current?.focus();
      textArea.current?.setSelectionRange(error.at, error.at + 1);
    }
    const isEntered = errors.size > 0;
    if (error instanceof ServerError && Array.isArray(error.problem.errors))
      for (const { pointer, detail } of error.problem.errors) errors.set(String(pointer), String(detail));
    const named = schema ? "" : [...errors].map(([pointer, detail]) => `${pointer}: ${detail}`).join("; ");
    setTrouble({ errors, text: (isEntered && otherwise) || named || messageOf(error) });
  }

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const data = new FormData(event.target);
    const [delay, priority] = [String(data.get("delay") ?? ""), String(data.get("priority") ?? "")];
    const path = original
      ? `/v1/requests/${encodeURIComponent(original.id)}/again`
      : `/v1/queues/${encodeURIComponent(queue.name)}/requests`;
    try {
      const body = bodyOf(event.target);
      const type = body instanceof File ? body.type || "application/octet-stream" : "application/json";
      const headers = {
        ...(body !== null && { "Content-Type": type }),
        Prefer: "respond-async",
        ...(priority === "" ? {} : { Priority: `u=${priority}` }),
      };
      const search = delay === "" ? "" : `?delay=${encodeURIComponent(delay)}`;
      const answer = await send(path + search, { method: "POST", headers, ...(body !== null && { body }) });
      if (!answer.ok) throw await errorOf(answer);
      setSubmitted(await answer.json());
      setTrouble(NO_TROUBLE);
      desk.refresh();
    } catch (error) {
      setSubmitted(null);
      tell(error, "Nothing was submitted.");
    }
  }

  /** Changes between fields and JSON and keeps what was entered, or says why it cannot. */
  function change() {
    if (!form.current) return;
    try {
      if (schema) {
        const value = formValue(schema, form.current, draft.value);
        // The text as it was typed, unless a field has changed it.
        setDraft({ value, text: textOf(value) === textOf(draft.value) ? draft.text : textOf(value, 2) });
      } else setDraft({ value: objectOf(typedText()), text: typedText() });
      setJson(!isJson);
      setTrouble(NO_TROUBLE);
    } catch (error) {
      const otherwise = "It cannot be shown as a form until it is valid JSON.";
      tell(error, error instanceof NoJson ? otherwise : messageOf(error));
    }
  }

  function fields() {
    if (!takesJson)
      return html`
        <div class="field" key="file">
          <label for="submission-file">File (${queue.consumes.join(", ")})${original && html`<span class="hint"> optional: otherwise the same</span>`}</label>
          <input id="submission-file" type="file" name="file" required=${!original} accept=${queue.consumes.join(",")} />
        </div>`;
    if (schema) return html`<div class="fields" key="fields">${formFields(schema, draft.value, trouble.errors)}</div>`;
    const error = trouble.errors.get("");
    return html`
      <div class="field" key="json">
        <label for="submission-json">Input, as JSON</label>
        <textarea id="submission-json" ref=${textArea} name="json" rows="6" required spellcheck=${false} defaultValue=${draft.text}
          aria-invalid=${error ? "true" : null} aria-describedby=${error ? "submission-json:error" : null} />
        ${error && html`<p class="bad" id="submission-json:error">${error}</p>`}
      </div>`;
  }

  return html`
    <form id="submission" ref=${form} hidden=${!isOpen} class="panel submission" aria-label=${original ? `Run ${original.id} again` : `Submit a task to ${queue.name}`}
      onSubmit=${submit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && onClose()}>
      ${fields()}
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
      <p class="bad" role="alert">${trouble.text}</p>
      <p role="status">
        ${
          submitted &&
          html`
            Submitted as <a href=${paths.task(submitted.id)} class="id inline">${submitted.id}</a>${submitted.index === null ? "." : `, place ${submitted.index + 1}.`}`
        }
      </p>
      <div class="buttons">
        <button type="submit" class="primary">Submit</button>
        ${canBeForm && html`<button type="button" onClick=${change}>${isJson ? "As a form" : "As JSON"}</button>`}
        <button type="button" onClick=${onClose}>Close</button>
      </div>
    </form>`;
}

/** @param {string} text @throws {NoJson} @throws {Error} when the text is not an object */
function objectOf(text) {
  const value = parse(text);
  if (isObject(value)) return value;
  const what = Array.isArray(value) ? "an array" : value === null ? "null" : "a single value";
  throw new Error(`It cannot be shown as a form: it is ${what}, not an object.`);
}
