/** The dialog of the page: it asks for confirmation before data is deleted, and for the API key. */

import { html, useLayoutEffect, useRef } from "../../preact.js";

/** @typedef {import("../../preact.js").Content} Content */
/**
 * @typedef {{ title: string, body: Content, submit: string, otherwise?: string | null, isGrave?: boolean }} Question
 *   `submit` labels the button that does it, `otherwise` the one that does not, null for none
 */

/** @param {Question & { onAnswer: (data: FormData | null) => void }} props */
export function Dialog({ title, body, submit, otherwise = "Cancel", isGrave = false, onAnswer }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const answer = useRef(/** @type {FormData | null} */ (null));
  const close = () => dialog.current?.close();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  /** @param {SubmitEvent} event */
  function take(event) {
    event.preventDefault();
    if (event.target instanceof HTMLFormElement) answer.current = new FormData(event.target);
    close();
  }
  return html`
    <dialog id="dialog" ref=${dialog} aria-labelledby="dialog-title" onClose=${() => onAnswer(answer.current)}>
      <form onSubmit=${take}>
        <h2 id="dialog-title">${title}</h2>
        ${body}
        <div class="buttons">
          ${otherwise !== null && html`<button type="button" onClick=${close} autofocus=${isGrave}>${otherwise}</button>`}
          <button type="submit" class=${isGrave ? "danger" : "primary"}>${submit}</button>
        </div>
      </form>
    </dialog>`;
}

/**
 * Asks for an API key.
 * @param {boolean} isKnown whether there is one to remove
 * @returns {Question}
 */
export const keyQuestion = (isKnown) => ({
  title: "API key",
  body: html`
    <p>What you see and may do here depends on the scopes of your key: read to look, admin to act.</p>
    <label for="api-key">Key</label>
    <input id="api-key" name="key" type="password" autocomplete="off" spellcheck=${false} autofocus placeholder="ph_…" />
    <p class="hint">It is kept in this tab only, until the tab is closed.</p>
    ${isKnown && html`<p class="hint">Leave it empty to remove the API key in use.</p>`}`,
  submit: "Use key",
});
