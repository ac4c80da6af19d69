/** A value, such as a result, shown by its type, and never as HTML. */

import { size } from "../../../words/numbers.ts";
import { html, useEffect, useRef, useState } from "./preact.js";

const MAX_PICTURE_BYTES = 10_000_000;
/** How much of a long text is shown: its beginning. */
const MAX_CHARACTERS = 100_000;

/**
 * @typedef {object} Known what is known of a value
 * @property {string} mediaType
 * @property {number | null} bytes null if the server does not say
 * @property {unknown} [json]
 * @property {string} [text]
 * @property {boolean} [isCut] whether the text goes on
 * @property {string} [picture] its address
 */

/** Plain text, and formats that people read as text. Not HTML: its source would be shown. @param {string} type */
const isText = (type) => isJson(type) || /^(text\/(?!html\b)|application\/([^;]+\+)?xml\b)/i.test(type);
/** @param {string} type */
const isJson = (type) => /^application\/([^;]+\+)?json\b/i.test(type);
/** Whether browsers show it by themselves. @param {string} type */
export const isViewable = (type) => isText(type) || /^(image\/|text\/html\b|application\/pdf\b)/i.test(type);

/** Its type and size, for people. @param {Known} known */
export const kindOf = ({ mediaType, bytes }) =>
  [mediaType.split(";", 1)[0]?.trim(), bytes !== null && size(bytes)].filter(Boolean).join(", ");

/**
 * What can be shown of a value.
 * @param {Response} response
 * @returns {Promise<Known>}
 */
async function read(response) {
  const mediaType = response.headers.get("Content-Type") ?? "";
  const length = response.headers.get("Content-Length");
  // A proxy that compresses removes it.
  const bytes = length === null && response.status !== 204 ? null : Number(length);
  // Within an image element, even an SVG runs no scripts.
  if (/^image\//i.test(mediaType) && bytes !== null && bytes <= MAX_PICTURE_BYTES)
    return { mediaType, bytes, picture: URL.createObjectURL(await response.blob()) };
  if (isText(mediaType) && bytes !== 0) return { mediaType, bytes, ...(await beginning(response)) };
  await response.body?.cancel();
  return { mediaType, bytes };
}

/** The text of a value, up to what is shown. @param {Response} response */
async function beginning({ body, headers }) {
  let text = "";
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    text += part.value;
    if (text.length <= MAX_CHARACTERS) continue;
    await reader?.cancel();
    return { text: text.slice(0, MAX_CHARACTERS), isCut: true };
  }
  return { text: isJson(headers.get("Content-Type") ?? "") ? readable(text) : text };
}

/** A text in quotes without them, anything else in lines. @param {string} json @returns {string} */
function readable(json) {
  const value = parsed(json);
  return typeof value === "string" ? value : indented(json);
}

/** JSON in lines. @param {string} json */
export function indented(json) {
  const value = parsed(json);
  // A number that JavaScript cannot represent would change.
  return JSON.stringify(value) === json.trim() ? JSON.stringify(value, null, 2) : json;
}

/** @param {string} json @returns {unknown} undefined if it is not JSON */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * A value that is fetched as soon as it is there; null until then, and after an error, when the next drawing tries again.
 * @param {boolean} isThere
 * @param {() => Promise<Response>} open
 */
export function useFetched(isThere, open) {
  const [known, setKnown] = useState(/** @type {Known | null} */ (null));
  const isFetching = useRef(false);
  useEffect(() => {
    if (!isThere || known || isFetching.current) return;
    isFetching.current = true;
    open()
      .then(read)
      .then(setKnown, () => undefined)
      .finally(() => {
        isFetching.current = false;
      });
  });
  useEffect(() => () => URL.revokeObjectURL(known?.picture ?? ""), [known]);
  return known;
}

/** @param {{ known: Known, label: string, otherwise: string }} props `otherwise`: the text if it cannot be shown */
export function Value({ known: { bytes, json, text, isCut, picture }, label, otherwise }) {
  const [isBroken, breakIt] = useState(false);
  if (picture && !isBroken)
    return html`<img class="value" src=${picture} alt=${label} onError=${() => breakIt(true)} />`;
  const shown = json === undefined ? text : JSON.stringify(json, null, 2);
  if (shown === undefined) return html`<p class="hint">${bytes === 0 ? "Nothing." : otherwise}</p>`;
  return html`
    <pre class="value" tabindex="0" role="group" aria-label=${label}>${shown}</pre>
    ${isCut && html`<p class="hint">Only the beginning is shown.</p>`}`;
}
