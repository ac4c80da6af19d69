import { html } from "../preact.js";

/**
 * The output of a task, while it runs.
 * @param {{ output: ReturnType<typeof import("../output-text.js").useOutputText>, href: string }} props `href`: the address of
 * all output
 */
export function Output({ output: { text, place }, href }) {
  if (text.isEmpty) return null;
  // Reachable by keyboard, since it scrolls.
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
