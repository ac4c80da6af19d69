/** Shows the result of a task on its page by its type: an image, text, or JSON. Other types have only a link. */

import { html, useEffect, useLayoutEffect, useRef, useState } from "../preact.js";
import { size } from "../words.js";

/** The maximum size shown, in bytes; larger results have only a link. */
const MAX = { image: 10_000_000, text: 200_000 };

/**
 * @typedef {object} Known
 * @property {string} told its type and size
 * @property {boolean} isEmpty
 * @property {HTMLImageElement} [image]
 * @property {string} [text]
 */

/**
 * A result, and the link to it. A result that is too long, or of another type, has only the link.
 * @param {{ href: string, collect: string, isThere: boolean }} props `collect`: the text of the link
 */
export function Result({ href, collect, isThere }) {
  const [known, setKnown] = useState(/** @type {Known | null} */ (null));
  const picture = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    // If that fails, the link remains.
    if (isThere) void describe(href, setKnown).catch(() => undefined);
  }, [isThere, href]);
  useLayoutEffect(() => picture.current?.replaceChildren(known?.image ?? ""), [known?.image]);
  const { told = "", isEmpty = false, image, text } = known ?? {};
  const pre = html`<pre tabindex="0" role="region" aria-labelledby="shown-title">${text}</pre>`;
  const value = image
    ? html`<div id="shown-value" key="image" ref=${picture} />`
    : html`<div id="shown-value">${pre}</div>`;
  return html`
    ${
      isThere &&
      (image || text !== undefined) &&
      html`<section id="shown" class="shown"><h2 id="shown-title">Result</h2>${value}</section>`
    }
    <p class="result">
      <a id="result" href=${href} rel="noreferrer" hidden=${isEmpty}>${collect}</a> <span id="size">${told}</span>
    </p>`;
}

/**
 * Shows the type and size of a result, then the result itself if possible.
 * @param {string} href
 * @param {(known: Known) => void} show
 */
async function describe(href, show) {
  const head = await fetch(href, { method: "HEAD" });
  if (!head.ok) return;
  const type = (head.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const length = head.headers.get("Content-Length");
  // A proxy that compresses removes it.
  const bytes = length === null && head.status !== 204 ? null : Number(length);
  if (bytes === 0) return show({ told: "The task has no result to show.", isEmpty: true });
  const known = { told: [type, bytes === null ? "" : size(bytes)].filter(Boolean).join(", "), isEmpty: false };
  show(known);
  if (type.startsWith("image/") && bytes !== null && bytes <= MAX.image) show({ ...known, image: await image(href) });
  if (!isText(type) || (bytes ?? 0) > MAX.text) return;
  const text = await read(href);
  if (text !== null) show({ ...known, text: textOf(type, text) });
}

/**
 * The text of a result; null if there is none, or more than is shown.
 * @param {string} href
 */
async function read(href) {
  const response = await fetch(href);
  if (!response.ok || !response.body) return null;
  let text = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value;
    if (text.length <= MAX.text) continue;
    await reader.cancel();
    return null;
  }
  return text;
}

/**
 * Plain text, and formats that people read as text. Not HTML: its source would be shown.
 * @param {string} type
 */
const isText = (type) => isJson(type) || (type.startsWith("text/") && type !== "text/html");

/** @param {string} type */
const isJson = (type) => type === "application/json" || type.endsWith("+json");

/**
 * @param {string} type
 * @param {string} text
 */
function textOf(type, text) {
  if (!isJson(type)) return text;
  try {
    const value = JSON.parse(text);
    if (typeof value === "string") return value;
    // A number that JavaScript cannot represent would change.
    return JSON.stringify(value) === text.trim() ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

/**
 * Within an image element, even an SVG runs no scripts.
 * @param {string} href
 */
async function image(href) {
  const made = new Image();
  made.alt = "The result of the task";
  made.src = href;
  await made.decode();
  return made;
}
