/** A text that is shown in a few lines until somebody wants all of it. */

import { html, useState } from "../../preact.js";

/** What is shown at first. */
const LINES = 6;
const CHARACTERS = 240;

/** @param {string} text */
function beginning(text) {
  const lines = text.split("\n").slice(0, LINES).join("\n");
  return lines.length > CHARACTERS ? lines.slice(0, CHARACTERS) : lines;
}

/** @param {{ text: string, kind?: string }} props `kind`: its classes */
export function Folded({ text, kind = "" }) {
  const [isOpen, setOpen] = useState(false);
  const short = beginning(text);
  const isLong = short.length < text.length;
  return html`
    <span class="folded ${kind}">
      ${isOpen ? text : short}${isLong && !isOpen && " …"}
      ${
        isLong &&
        html`
          <button type="button" class="quiet" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
            ${isOpen ? "Show less" : "Show all"}
          </button>`
      }
    </span>`;
}
