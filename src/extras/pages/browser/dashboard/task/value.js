/** An input or a result, shown by its type, and never as HTML. */

import { html, useEffect, useRef, useState } from "../../preact.js";
import { size } from "../../words.js";
import { useDesk } from "../desk.js";
import { save } from "../parts/save.js";
import { errorOf, key, send } from "../server/server.js";

/** @typedef {import("../../preact.js").Content} Content */
/** @typedef {import("../server/wire.js").Shown & { status?: number }} Shown */

/** Formats of images that cannot contain scripts or load anything. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp)\b/i;
const TEXTS = /^(text\/|application\/([^;]+\+)?(json|xml)\b)/i;
const MAX_PICTURE_BYTES = 5_000_000;
const MAX_TEXT_BYTES = 1_000_000;
/** How much of a long text is shown: its beginning. */
const MAX_CHARACTERS = 20_000;

/**
 * @typedef {object} Fetched a result that was too long, or not text, and so did not come with its task
 * @property {string} mediaType
 * @property {number | null} bytes null if the server does not say
 * @property {string} [address] of a picture
 * @property {string} [text]
 */

/** Whether all of it came with its task. @param {Shown} shown */
const isWhole = ({ json, text, bytes }) => json !== undefined || text !== undefined || bytes === 0;

/** @param {{ title: string, shown: Shown, id: string }} props `id`: of its task */
export function Result({ title, shown, id }) {
  const desk = useDesk();
  const [fetched, setFetched] = useState(/** @type {Fetched | null} */ (null));
  const isFetching = useRef(false);
  // After an error the next refresh tries again.
  useEffect(() => {
    if (isWhole(shown) || fetched || isFetching.current) return;
    isFetching.current = true;
    fetchShown(id)
      .then(setFetched, () => undefined)
      .finally(() => {
        isFetching.current = false;
      });
  });
  useEffect(() => () => URL.revokeObjectURL(fetched?.address ?? ""), [fetched]);
  const button = html`
    <div class="buttons">
      <button type="button" class="quiet" onClick=${() => desk.act(() => download(id))}>Download</button>
    </div>`;
  return panel(
    title,
    { ...shown, ...fetched },
    shown.bytes !== 0 && button,
    fetched ? fetchedContent(fetched, id) : content(shown, "Loading …"),
  );
}

/** @param {{ shown: Shown, id: string }} props `id`: of its task */
export function Input({ shown, id }) {
  const desk = useDesk();
  const path = `/v1/requests/${encodeURIComponent(id)}/input`;
  async function fetchFile() {
    const response = await send(path, { long: true });
    if (!response.ok) throw await errorOf(response);
    const [, name] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
    save(await response.blob(), name ?? id);
    return null;
  }
  // A link would be opened without the key.
  function fetchWithKey(/** @type {MouseEvent} */ event) {
    if (key.get() === "") return;
    event.preventDefault();
    void desk.act(fetchFile);
  }
  const link = html`<p><a href=${path} download="" class="inline" onClick=${fetchWithKey}>Download the input</a></p>`;
  const told = content(shown, "It is too long to be shown here, or not text.");
  return panel("Input", shown, null, [told, !isWhole(shown) && link]);
}

/**
 * @param {string} title
 * @param {{ status?: number, mediaType: string, bytes: number | null }} shown
 * @param {Content} button
 * @param {Content} content
 */
function panel(title, { status = 200, mediaType, bytes }, button, content) {
  const told = [status !== 200 && `HTTP ${status}`, mediaType, bytes !== null && size(bytes)];
  return html`
    <section class="panel" aria-label=${title}>
      <div class="head"><h2>${title}</h2><span class="hint">${told.filter(Boolean).join(" · ")}</span>${button}</div>
      ${content}
    </section>`;
}

/** @param {Shown} shown @param {string} otherwise */
function content({ json, text, bytes }, otherwise) {
  if (json !== undefined) return pre(JSON.stringify(json, null, 2));
  if (text !== undefined) return pre(text);
  return html`<p class="hint">${bytes === 0 ? "Nothing." : otherwise}</p>`;
}

/** @param {Fetched} fetched @param {string} id */
function fetchedContent({ address, text, bytes }, id) {
  if (address) return html`<img src=${address} alt="Result of ${id}" />`;
  if (text === undefined) return html`<p class="hint">It is not text, or too long to be shown here.</p>`;
  return [pre(text), bytes !== null && bytes > text.length && html`<p class="hint">Only the beginning is shown.</p>`];
}

/** @param {string} text */
const pre = (text) => html`<pre class="value" tabindex="0" role="group" aria-label="Value">${text}</pre>`;

/**
 * What can be shown of a result; nothing if it is too long.
 * @param {string} id
 * @returns {Promise<Fetched>}
 */
async function fetchShown(id) {
  const response = await fetchResult(id);
  const mediaType = response.headers.get("Content-Type") ?? "application/octet-stream";
  const length = response.headers.get("Content-Length");
  const bytes = length === null ? null : Number(length);
  if (PICTURES.test(mediaType) && bytes !== null && bytes <= MAX_PICTURE_BYTES) {
    return { mediaType, bytes, address: URL.createObjectURL(await response.blob()) };
  }
  if (TEXTS.test(mediaType) && bytes !== null && bytes <= MAX_TEXT_BYTES) {
    return { mediaType, bytes, text: (await response.text()).slice(0, MAX_CHARACTERS) };
  }
  await response.body?.cancel();
  return { mediaType, bytes };
}

/** The result of a task, with the key. @param {string} id */
async function fetchResult(id) {
  const response = await send(`/v1/requests/${encodeURIComponent(id)}`, { headers: { Accept: "*/*" }, long: true });
  // The result of a failed task is its problem.
  if (!response.ok && !response.headers.has("X-Task-State")) throw await errorOf(response);
  return response;
}

/** @param {string} id */
async function download(id) {
  save(await (await fetchResult(id)).blob(), id);
  return null;
}
