/** The one dialog of the page: it asks before something is destroyed, and for the key. */

import { byId } from "../page.js";
import { h, render } from "./html.js";

/** @returns {HTMLDialogElement} */
function dialog() {
  const found = byId("dialog");
  if (!(found instanceof HTMLDialogElement)) throw new Error("#dialog is no dialog");
  return found;
}

/**
 * Shows a form in the dialog; resolves with its data, or null if it was closed otherwise.
 * @param {{ title: string, body: import("./html.js").Content, submit: string, otherwise?: string, danger?: boolean }} shown
 * @returns {Promise<FormData | null>}
 */
function show({ title, body, submit, otherwise = "Cancel", danger = false }) {
  const element = dialog();
  return new Promise((resolve) => {
    /** @type {FormData | null} */
    let data = null;
    element.onclose = () => {
      element.replaceChildren();
      resolve(data);
    };
    element.setAttribute("aria-labelledby", "dialog-title");
    render(
      element,
      h(
        "form",
        {
          key: title,
          onsubmit: (/** @type {SubmitEvent} */ event) => {
            event.preventDefault();
            if (event.target instanceof HTMLFormElement) data = new FormData(event.target);
            element.close();
          },
        },
        h("h2", { id: "dialog-title" }, title),
        body,
        h(
          "div",
          { class: "buttons" },
          h("button", { type: "button", onclick: () => element.close(), autofocus: danger }, otherwise),
          h("button", { type: "submit", class: danger ? "danger" : "primary" }, submit),
        ),
      ),
    );
    element.showModal();
  });
}

/**
 * Asks before something is destroyed. `submit` names what is done, `otherwise` that it is not.
 * @param {{ title: string, text: string, submit: string, otherwise?: string }} question
 * @returns {Promise<boolean>}
 */
export async function confirmed({ text, ...question }) {
  return (await show({ ...question, body: h("p", null, text), danger: true })) !== null;
}

/**
 * Asks for an API key.
 * @param {string} reason
 * @param {boolean} isKnown whether there is one to be forgotten
 * @returns {Promise<string | null>} the key, empty to forget it; null to leave things as they are
 */
export async function askForKey(reason, isKnown) {
  const data = await show({
    title: "API key",
    body: [
      h("p", null, reason),
      h("label", { for: "api-key" }, "Key"),
      h("input", {
        id: "api-key",
        name: "key",
        type: "password",
        autocomplete: "off",
        spellcheck: "false",
        autofocus: true,
        placeholder: "ph_…",
      }),
      h("p", { class: "hint" }, "It is kept in this tab only, until the tab is closed."),
      isKnown && h("p", { class: "hint" }, "Leave it empty to forget the key in use."),
    ],
    submit: "Use key",
  });
  return data === null ? null : String(data.get("key") ?? "").trim();
}
