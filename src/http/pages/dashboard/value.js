/** An input or a result, shown as what it is, and never as HTML. */

import { size } from "./format.js";
import { h } from "./html.js";
import { save } from "./page.js";
import { errorOf, send } from "./server.js";

/** @typedef {import("./wire.js").Shown} Shown */

/** Pictures that cannot hold scripts or load anything. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp)\b/i;
const MOST_PICTURE_BYTES = 5_000_000;

/** The addresses of pictures, by task; null while one is fetched. @type {Map<string, string | null>} */
const pictures = new Map();
const MOST_PICTURES = 20;

/**
 * @param {string} title
 * @param {Shown & { status?: number } | null} shown
 * @param {import("./view.js").Desk} [desk] with which a result can be fetched whole
 * @param {string} [id] of its task
 */
export function value(title, shown, desk, id) {
  if (!shown) return null;
  const status = shown.status !== undefined && shown.status !== 200 ? `HTTP ${shown.status} · ` : "";
  return h(
    "section",
    { key: title, class: "panel", "aria-label": title },
    h(
      "div",
      { class: "head" },
      h("h2", null, title),
      h("span", { class: "hint" }, `${status}${shown.mediaType} · ${size(shown.bytes)}`),
      desk &&
        id !== undefined &&
        shown.bytes > 0 &&
        h(
          "div",
          { class: "buttons" },
          h("button", { type: "button", class: "quiet", onclick: () => void desk.act(() => download(id)) }, "Download"),
        ),
    ),
    content(shown, desk, id),
  );
}

/**
 * @param {Shown} shown
 * @param {import("./view.js").Desk} [desk]
 * @param {string} [id]
 */
function content(shown, desk, id) {
  const { json, text, bytes, mediaType, truncated } = shown;
  if (json !== undefined) return pre(JSON.stringify(json, null, 2));
  if (text !== undefined) return [pre(text), truncated && h("p", { class: "hint" }, "This is the beginning of it.")];
  if (bytes === 0) return h("p", { class: "hint" }, "Nothing.");
  if (desk && id !== undefined && PICTURES.test(mediaType) && bytes <= MOST_PICTURE_BYTES) return picture(desk, id);
  return h("p", { class: "hint" }, bytes > 20_000 ? "It is too long to be shown here." : "It is not text.");
}

/** @param {string} text */
const pre = (text) => h("pre", { class: "value", tabindex: "0", role: "group", "aria-label": "Value" }, text);

/** @param {import("./view.js").Desk} desk @param {string} id */
function picture(desk, id) {
  const address = pictures.get(id);
  if (address === undefined) {
    pictures.set(id, null);
    void load(id).then(desk.redraw, () => pictures.delete(id));
  }
  return address ? h("img", { src: address, alt: `Result of ${id}` }) : h("p", { class: "hint" }, "Loading …");
}

/** @param {string} id */
async function load(id) {
  pictures.set(id, URL.createObjectURL(await fetched(id)));
  const [oldest, address] = [...pictures][0] ?? [];
  if (pictures.size <= MOST_PICTURES || oldest === undefined) return;
  pictures.delete(oldest);
  if (address) URL.revokeObjectURL(address);
}

/** The result of a task, with the key. @param {string} id */
async function fetched(id) {
  const response = await send(`/v1/requests/${encodeURIComponent(id)}`, { headers: { Accept: "*/*" }, long: true });
  // The result of a failed task is its problem.
  if (!response.ok && !response.headers.has("X-Task-State")) throw await errorOf(response);
  return response.blob();
}

/** @param {string} id */
async function download(id) {
  save(await fetched(id), id);
  return null;
}
