/** An input or a result, shown as what it is, and never as HTML. */

import { save } from "../page.js";
import { size } from "../parts/format.js";
import { h } from "../parts/html.js";
import { errorOf, key, send } from "../server/server.js";

/** @typedef {import("../server/wire.js").Shown} Shown */

/** Pictures that cannot hold scripts or load anything. */
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp)\b/i;
const TEXTS = /^(text\/|application\/([^;]+\+)?(json|xml)\b)/i;
const MOST_PICTURE_BYTES = 5_000_000;
const MOST_TEXT_BYTES = 1_000_000;
/** Of a long text, its beginning is shown. */
const MOST_CHARACTERS = 20_000;
const MOST_KEPT = 20;

/**
 * @typedef {object} Fetched a result that was too long, or no text, to come with the rest of its task
 * @property {string} mediaType
 * @property {number | null} bytes null if the server does not say
 * @property {string} [address] of a picture
 * @property {string} [text]
 */

/** By task; null while one is fetched. @type {Map<string, Fetched | null>} */
const results = new Map();

/**
 * @param {string} title
 * @param {Shown & { status?: number } | null} shown
 * @param {import("../views/view.js").Desk} [desk] with which a result can be fetched whole
 * @param {string} [id] of its task
 * @param {import("../parts/html.js").Content} [link] below it
 */
export function value(title, shown, desk, id, link) {
  if (!shown) return null;
  const isWhole = shown.json !== undefined || shown.text !== undefined || shown.bytes === 0;
  const more = !isWhole && desk && id !== undefined ? fetchedBefore(desk, id) : null;
  const { mediaType, bytes } = more ?? shown;
  const status = shown.status !== undefined && shown.status !== 200 ? `HTTP ${shown.status} · ` : "";
  return h(
    "section",
    { key: title, class: "panel", "aria-label": title },
    h(
      "div",
      { class: "head" },
      h("h2", null, title),
      h("span", { class: "hint" }, `${status}${mediaType}${bytes === null ? "" : ` · ${size(bytes)}`}`),
      desk &&
        id !== undefined &&
        bytes !== 0 &&
        h(
          "div",
          { class: "buttons" },
          h("button", { type: "button", class: "quiet", onclick: () => void desk.act(() => download(id)) }, "Download"),
        ),
    ),
    more ? fetchedContent(more, id ?? "") : content(shown, desk !== undefined && !isWhole),
    link,
  );
}

/**
 * @param {Shown} shown
 * @param {boolean} isLoading
 */
function content({ json, text, bytes }, isLoading) {
  if (json !== undefined) return pre(JSON.stringify(json, null, 2));
  if (text !== undefined) return pre(text);
  if (bytes === 0) return h("p", { class: "hint" }, "Nothing.");
  return h("p", { class: "hint" }, isLoading ? "Loading …" : "It is too long to be shown here, or not text.");
}

/** @param {Fetched} fetched @param {string} id */
function fetchedContent({ address, text, bytes }, id) {
  if (address) return h("img", { src: address, alt: `Result of ${id}` });
  if (text === undefined) return h("p", { class: "hint" }, "It is not text, or too long to be shown here.");
  return [
    pre(text),
    bytes !== null && bytes > text.length && h("p", { class: "hint" }, "This is the beginning of it."),
  ];
}

/**
 * A link to an input that is not shown here; null where it is.
 * @param {Shown | null} shown
 * @param {string} id of its task
 * @param {import("../views/view.js").Desk} desk
 */
export function inputLink(shown, id, desk) {
  if (!shown || shown.json !== undefined || shown.text !== undefined || shown.bytes === 0) return null;
  const path = `/v1/requests/${encodeURIComponent(id)}/input`;
  const fetchFile = async () => {
    const response = await send(path, { long: true });
    if (!response.ok) throw await errorOf(response);
    const [, name] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
    save(await response.blob(), name ?? id);
    return null;
  };
  // A link carries no key.
  const onclick = (/** @type {MouseEvent} */ event) => {
    if (key.get() === "") return;
    event.preventDefault();
    void desk.act(fetchFile);
  };
  return h("p", { key: "link" }, h("a", { href: path, download: "", class: "inline", onclick }, "Download the input"));
}

/** @param {string} text */
const pre = (text) => h("pre", { class: "value", tabindex: "0", role: "group", "aria-label": "Value" }, text);

/** @param {import("../views/view.js").Desk} desk @param {string} id */
function fetchedBefore(desk, id) {
  const known = results.get(id);
  if (known === undefined) {
    results.set(id, null);
    fetchShown(id).then(
      (fetched) => {
        results.set(id, fetched);
        forgetOldest();
        desk.redraw();
      },
      // It is tried again with the next refresh.
      () => results.delete(id),
    );
  }
  return known ?? null;
}

function forgetOldest() {
  const [id, oldest] = [...results][0] ?? [];
  if (results.size <= MOST_KEPT || id === undefined) return;
  results.delete(id);
  if (oldest?.address) URL.revokeObjectURL(oldest.address);
}

/**
 * What can be shown of a result, and nothing of one that is too long.
 * @param {string} id
 * @returns {Promise<Fetched>}
 */
async function fetchShown(id) {
  const response = await fetchResult(id);
  const mediaType = response.headers.get("Content-Type") ?? "application/octet-stream";
  const length = response.headers.get("Content-Length");
  const bytes = length === null ? null : Number(length);
  if (PICTURES.test(mediaType) && bytes !== null && bytes <= MOST_PICTURE_BYTES) {
    return { mediaType, bytes, address: URL.createObjectURL(await response.blob()) };
  }
  if (TEXTS.test(mediaType) && bytes !== null && bytes <= MOST_TEXT_BYTES) {
    return { mediaType, bytes, text: (await response.text()).slice(0, MOST_CHARACTERS) };
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
