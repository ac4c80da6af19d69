import { html } from "../preact.js";

/**
 * What a task writes while it runs.
 * @param {{ output: ReturnType<typeof import("../output-text.js").useOutputText>, href: string }} props `href`: where all of it is
 */
export function Output({ output: { text, place }, href }) {
  if (text.isEmpty) return null;
  // It scrolls, also by keyboard.
  return html`
    <section id="output" class="shown">
      <h2 id="output-title">Output</h2>
      ${
        text.isCut &&
        html`<p id="output-cut">Only the end is shown. <a href=${href} rel="noreferrer">Open all of it</a></p>`
      }
      <pre id="output-text" tabindex="0" role="log" aria-live="off" aria-labelledby="output-title" ref=${place} />
    </section>`;
}
