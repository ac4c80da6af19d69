/** The form that submits a task: made of the schema of the queue, or JSON, or a file. */

import { paths } from "../address.js";
import { h } from "../parts/html.js";
import { errorOf, messageOf, ServerError, send } from "../server/server.js";
import { formFields, formValue, isForm } from "./schema-form.js";

/** @typedef {import("../server/wire.js").Queue} Queue */

const PRIORITIES = ["0 (first)", "1", "2", "3 (default)", "4", "5", "6", "7 (last)"];

/**
 * @param {import("../views/view.js").Desk} desk
 * @param {string} name
 */
export function submission(desk, name) {
  let isOpen = false;
  let isJson = false;
  /** What was entered, when the form changes between fields and JSON. @type {unknown} */
  let draft;
  /** @type {Map<string, string>} */
  let errors = new Map();
  let trouble = "";
  /** @type {{ id: string, index: number | null } | null} */
  let submitted = null;

  /** @param {boolean} open */
  function toggle(open) {
    isOpen = open;
    submitted = null;
    desk.redraw();
    const id = open ? "#submission :is(input, textarea, select)" : "#submit-task";
    const target = document.querySelector(id);
    if (target instanceof HTMLElement) target.focus();
  }

  /** @param {Queue} queue */
  const hasFields = (queue) => isForm(queue.input) && takesJson(queue) && !isJson;

  /** @param {Queue} queue @param {FormData} data */
  function bodyOf(queue, data) {
    const file = data.get("file");
    if (file instanceof File) return file;
    if (hasFields(queue) && queue.input) return JSON.stringify(formValue(queue.input, data));
    const text = String(data.get("json") ?? "");
    JSON.parse(text);
    return text;
  }

  /** @param {Queue} queue @param {SubmitEvent} event */
  async function submit(queue, event) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const data = new FormData(event.target);
    errors = new Map();
    trouble = "";
    try {
      const body = bodyOf(queue, data);
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
      if (error instanceof ServerError && Array.isArray(error.problem.errors)) {
        for (const { pointer, detail } of error.problem.errors) errors.set(String(pointer), String(detail));
      }
      const named = [...errors].map(([pointer, detail]) => `${pointer}: ${detail}`).join("; ");
      trouble = hasFields(queue) || named === "" ? messageOf(error) : named;
      submitted = null;
    }
    desk.redraw();
  }

  /** Changes between fields and JSON, and keeps what was entered as far as possible. @param {Queue} queue */
  function change(queue) {
    const form = document.querySelector("#submission");
    if (!(form instanceof HTMLFormElement) || !queue.input) return;
    const data = new FormData(form);
    trouble = "";
    try {
      draft = isJson ? JSON.parse(String(data.get("json"))) : formValue(queue.input, data);
      isJson = !isJson;
    } catch (error) {
      trouble = messageOf(error);
    }
    desk.redraw();
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
        value: JSON.stringify(draft ?? {}, null, 2),
      }),
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
      isOpen &&
      h(
        "form",
        {
          id: "submission",
          key: "submission",
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
