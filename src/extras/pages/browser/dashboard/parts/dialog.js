/** The dialog of the page: it asks for confirmation before data is deleted, and shows the keys. */

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
