/** The input and the result of a task. */

import { html } from "../../preact.js";
import { prefix } from "../../server.js";
import { kindOf, useFetched, Value } from "../../value.js";
import { errorOf, key, send } from "../api.js";
import { useDesk } from "../desk.js";

/** @typedef {import("../api.js").Shown & { status?: number }} Shown */

/** What opens in a tab: it runs no scripts there with the rights of this page. */
const OPENED = /^(image\/(png|jpeg|gif|webp|avif|bmp)|application\/pdf)\b/i;

/** Whether all of it came with its task. @param {Shown} shown */
const isWhole = ({ json, text, bytes }) => json !== undefined || text !== undefined || bytes === 0;

/** @param {{ title: string, shown: Shown, id: string }} props `id`: of its task */
export function Result({ title, shown, id }) {
  // A browser that follows the link gets the result itself, too.
  const path = `/v1/requests/${encodeURIComponent(id)}?raw=true`;
  const fetched = useFetched(!isWhole(shown), () => open(path));
  const known = { ...shown, ...fetched };
  return html`
    <${Panel} title=${title} known=${known} path=${path} id=${id}
      otherwise=${isWhole(shown) || fetched ? "It cannot be shown here." : "Loading …"} />`;
}

/** @param {{ shown: Shown, id: string }} props `id`: of its task */
export const Input = ({ shown, id }) => html`
  <${Panel} title="Input" known=${shown} path="/v1/requests/${encodeURIComponent(id)}/input" id=${id}
    otherwise="It is too long to be shown here, or not text." />`;

/** @param {string} path */
async function open(path) {
  const response = await send(path, { headers: { Accept: "*/*" }, long: true });
  // The result of a failed task is its problem.
  if (!response.ok && !response.headers.has("X-Task-State")) throw await errorOf(response);
  return response;
}

/** @param {{ title: string, known: Shown, path: string, id: string, otherwise: string }} props */
function Panel({ title, known, path, id, otherwise }) {
  const desk = useDesk();
  const { status = 200, mediaType, bytes } = known;
  /**
   * Follows a link with the key, if there is one: a browser would follow it without.
   * @param {MouseEvent} event
   * @param {(blob: Blob, name: string) => void} use
   */
  function follow(event, use) {
    event.preventDefault();
    void desk.act(async () => {
      const response = await open(path);
      const [, name] = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "") ?? [];
      use(await response.blob(), name ?? id);
      return null;
    });
  }
  /** @param {MouseEvent} event */
  function openBeside(event) {
    if (key.get() === "") return;
    // Opened at once: a browser allows that only while it handles the click.
    const beside = window.open("", "_blank");
    follow(event, (blob) => beside?.location.replace(URL.createObjectURL(blob)));
  }
  /** @param {MouseEvent} event */
  const download = (event) => key.get() !== "" && follow(event, save);
  return html`
    <section class="panel" aria-label=${title}>
      <div class="head">
        <h2>${title}</h2>
        <span class="hint">${status !== 200 && `HTTP ${status}, `}${kindOf(known)}</span>
        ${
          bytes !== 0 &&
          html`
            <div class="buttons">
              ${OPENED.test(mediaType) && html`<a class="inline" href=${prefix + path} target="_blank" rel="noreferrer" onClick=${openBeside}>Open</a>`}
              <a class="inline" href=${prefix + path} download="" onClick=${download}>Download</a>
            </div>`
        }
      </div>
      <${Value} known=${known} label="${title} of ${id}" otherwise=${otherwise} />
    </section>`;
}

/**
 * Saves text or bytes as a file.
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
