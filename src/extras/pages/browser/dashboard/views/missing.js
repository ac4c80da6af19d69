/** What is shown at an address without content. */

import { html } from "../../preact.js";
import { paths } from "../address.js";
import { View } from "./view.js";

export const Missing = () => html`
  <${View} title="Not found" load=${async () => location.pathname}>
    ${(/** @type {string} */ path) => nothingThere("Not found", html`The dashboard has no page <code>${path}</code>.`)}
  <//>`;

/**
 * @param {string} title
 * @param {import("../../preact.js").Content} text
 */
export const nothingThere = (title, text) => html`
  <h1>${title}</h1>
  <p>${text}</p>
  <p><a href=${paths.overview}>All queues</a></p>`;
