/** The form that submits a task: made of the schema of the queue, or JSON, or a file. */

import { paths } from "../address.js";
import { h } from "../parts/html.js";
import { errorOf, messageOf, ServerError, send } from "../server/server.js";
import { isObject, NoJson, parse, textOf } from "./json.js";
import { FieldError, formFields, formValue, isForm } from "./schema-form.js";

/** @typedef {import("../server/wire.js").Queue} Queue */

const PRIORITIES = ["0 (first)", "1", "2", "3 (default)", "4", "5", "6", "7 (last)"];

/**
 * @param {import("../views/view.js").Desk} desk
 * @param {string} name
 */
export function submission(desk, name) {
  let isOpen = false;
  /** Once it was, the form stays in the page with what was entered. */
  let wasOpen = false;
  let isJson = false;
  /** What the form began with when it last changed between fields and JSON, and the text of that, as it was typed. */
  let draft = /** @type {Record<string, unknown>} */ ({});
  let draftText = "{}";
  /** @type {Map<string, string>} */
  let errors = new Map();
  let trouble = "";
  /** @type {{ id: string, index: number | null } | null} */
  let submitted = null;

  /** @param {boolean} open */
  function toggle(open) {
    isOpen = open;
    wasOpen = true;
    submitted = null;
    desk.redraw();
    const id = open ? "#submission :is(input, textarea, select)" : "#submit-task";
    const target = document.querySelector(id);
    if (target instanceof HTMLElement) target.focus();
  }

  /** @param {Queue} queue */
  const hasFields = (queue) => isForm(queue.input) && takesJson(queue) && !isJson;

  /** @param {Queue} queue @param {HTMLFormElement} form @throws {FieldError | NoJson} */
  function bodyOf(queue, form) {
    const file = new FormData(form).get("file");
    if (file instanceof File) return file;
    if (hasFields(queue) && queue.input) return textOf(formValue(queue.input, form, draft));
    const text = typedText();
    parse(text);
    return text;
  }

  const textArea = () => {
    const found = document.querySelector("#submission-json");
    return found instanceof HTMLTextAreaElement ? found : null;
  };
  // Not from the data of the form, where line breaks have changed.
  const typedText = () => textArea()?.value ?? "";

  /** Says at its place what is wrong with what was entered. @param {unknown} error @returns {boolean} whether it is that */
  function place(error) {
    if (error instanceof FieldError) errors.set(error.pointer, error.message);
    else if (error instanceof NoJson) errors.set("", error.message);
    else return false;
    return true;
  }

  /** @param {unknown} error */
  function goTo(error) {
    if (!(error instanceof NoJson)) return;
    textArea()?.focus();
    textArea()?.setSelectionRange(error.at, error.at + 1);
  }

  /** @param {Queue} queue @param {SubmitEvent} event */
  async function submit(queue, event) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const data = new FormData(event.target);
    errors = new Map();
    trouble = "";
    let failed;
    try {
      const body = bodyOf(queue, event.target);
      const delay = String(data.get("delay") ?? "");
      const priority = String(data.get("priority") ?? "");
      const answer = await send(
        `/v1/queues/${encodeURIComponent(name)}/requests${delay === "" ? "" : `?delay=${encodeURIComponent(delay)}`}`,
        {
          method: "POST",
          body,
          headers: {
            "Content-Type": body instanceof File ? body.type || "application/octet-stream" : "application/json",
            Prefer: "respond-async",
            ...(priority === "" ? {} : { Priority: `u=${priority}` }),
          },
        },
      );
      if (!answer.ok) throw await errorOf(answer);
      submitted = await answer.json();
      desk.refresh();
    } catch (error) {
      failed = error;
      if (place(error)) trouble = "Nothing was submitted.";
      else if (error instanceof ServerError && Array.isArray(error.problem.errors)) {
        for (const { pointer, detail } of error.problem.errors) errors.set(String(pointer), String(detail));
      }
      const named = [...errors].map(([pointer, detail]) => `${pointer}: ${detail}`).join("; ");
      trouble ||= hasFields(queue) || named === "" ? messageOf(error) : named;
      submitted = null;
    }
    desk.redraw();
    goTo(failed);
  }

  /** Changes between fields and JSON, with all that was entered, or says why it cannot. @param {Queue} queue */
  function change(queue) {
    const form = document.querySelector("#submission");
    if (!(form instanceof HTMLFormElement) || !queue.input) return;
    errors = new Map();
    trouble = "";
    let failed;
    try {
      if (isJson) readText();
      else {
        const value = formValue(queue.input, form, draft);
        // As it was typed, unless a field has changed it.
        if (textOf(value) !== textOf(draft)) draftText = textOf(value, 2);
        draft = value;
      }
      isJson = !isJson;
    } catch (error) {
      failed = error;
      place(error);
      trouble = error instanceof NoJson ? "It cannot be shown as a form as long as it is no JSON." : messageOf(error);
    }
    desk.redraw();
    goTo(failed);
  }

  /** @throws {NoJson} @throws {Error} when the text is no object */
  function readText() {
    const text = typedText();
    const value = parse(text);
    if (!isObject(value)) {
      const what = Array.isArray(value) ? "an array" : value === null ? "null" : "a single value";
      throw new Error(`It cannot be shown as a form: it is ${what}, and a form has an object.`);
    }
    [draft, draftText] = [value, text];
  }

  /** @param {Queue} queue */
  function fields(queue) {
    if (!takesJson(queue)) {
      return h(
        "div",
        { class: "field", key: "file" },
        h("label", { for: "submission-file" }, `File (${queue.consumes.join(", ")})`),
        h("input", {
          id: "submission-file",
          type: "file",
          name: "file",
          required: true,
          accept: queue.consumes.join(","),
        }),
      );
    }
    if (hasFields(queue) && queue.input)
      return h("div", { class: "fields", key: "fields" }, formFields(queue.input, draft, errors));
    const error = errors.get("");
    return h(
      "div",
      { class: "field", key: "json" },
      h("label", { for: "submission-json" }, "Input, as JSON"),
      h("textarea", {
        id: "submission-json",
        name: "json",
        rows: "6",
        required: true,
        spellcheck: "false",
        "aria-invalid": error ? "true" : null,
        "aria-describedby": error ? "submission-json:error" : null,
        value: draftText,
      }),
      error && h("p", { class: "bad", id: "submission-json:error" }, error),
    );
  }

  return {
    button: () =>
      h(
        "button",
        {
          type: "button",
          id: "submit-task",
          key: "submit",
          "aria-expanded": String(isOpen),
          onclick: () => toggle(!isOpen),
        },
        "Submit a task",
      ),

    /** @param {Queue} queue */
    show: (queue) =>
      wasOpen &&
      h(
        "form",
        {
          id: "submission",
          key: "submission",
          hidden: !isOpen,
          class: "panel submission",
          "aria-label": `Submit a task to ${name}`,
          onsubmit: (/** @type {SubmitEvent} */ event) => void submit(queue, event),
          onkeydown: (/** @type {KeyboardEvent} */ event) => {
            if (event.key === "Escape") toggle(false);
          },
        },
        fields(queue),
        h(
          "div",
          { class: "fields options" },
          h(
            "div",
            { class: "field" },
            h("label", { for: "submission-priority" }, "Priority"),
            h(
              "select",
              { id: "submission-priority", name: "priority", value: "3" },
              PRIORITIES.map((text, value) => h("option", { value: String(value) }, text)),
            ),
          ),
          h(
            "div",
            { class: "field" },
            h("label", { for: "submission-delay" }, "Delay", h("span", { class: "hint" }, " seconds, optional")),
            h("input", { id: "submission-delay", name: "delay", type: "number", min: "0", step: "1" }),
          ),
        ),
        h("p", { class: "bad", role: "alert", key: "trouble" }, trouble),
        h(
          "p",
          { role: "status", key: "submitted" },
          submitted && [
            "Submitted as ",
            h("a", { href: paths.task(submitted.id), class: "id inline" }, submitted.id),
            submitted.index === null ? "." : `, place ${submitted.index + 1}.`,
          ],
        ),
        h(
          "div",
          { class: "buttons" },
          h("button", { type: "submit", class: "primary" }, "Submit"),
          isForm(queue.input) &&
            takesJson(queue) &&
            h(
              "button",
              { type: "button", key: "change", onclick: () => change(queue) },
              isJson ? "As a form" : "As JSON",
            ),
          h("button", { type: "button", key: "close", onclick: () => toggle(false) }, "Close"),
        ),
      ),
  };
}

/** @param {Queue} queue */
const takesJson = ({ consumes }) => consumes.some((type) => /json|^\*\/\*$/.test(type));
