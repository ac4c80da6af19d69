/** Shows the result of a task as what it is, on its page: an image, text, or JSON. Anything else has only its link. */

/** Longer results have only their link, in bytes. */
const MOST = { image: 10_000_000, text: 200_000 };

/** @param {string} href */
export async function showResult(href) {
  const section = document.getElementById("shown");
  const value = document.getElementById("shown-value");
  if (!section || !value) return;
  try {
    const head = await fetch(href, { method: "HEAD" });
    if (!head.ok) return;
    const type = (head.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
    const length = head.headers.get("Content-Length");
    // A proxy that compresses leaves it out.
    const bytes = length === null && head.status !== 204 ? null : Number(length);
    describe(type, bytes);
    if (bytes === 0) return;
    if (type.startsWith("image/") && bytes !== null && bytes <= MOST.image) value.replaceChildren(await image(href));
    else if (isText(type) && (bytes ?? 0) <= MOST.text) {
      const text = await read(href);
      if (text === null) return;
      value.replaceChildren(pre(textOf(type, text)));
    } else return;
    section.hidden = false;
  } catch {
    // The link is still there.
  }
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
    if (text.length <= MOST.text) continue;
    await reader.cancel();
    return null;
  }
  return text;
}

/**
 * @param {string} type
 * @param {number | null} bytes null if it is not known
 */
function describe(type, bytes) {
  const size = document.getElementById("size");
  const link = document.getElementById("result");
  if (!size || !link) return;
  if (bytes === 0) {
    size.textContent = "The task has no result to show.";
    link.hidden = true;
  } else size.textContent = [type, bytes === null ? "" : sizeOf(bytes)].filter(Boolean).join(", ");
}

/** @param {number} bytes */
function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/**
 * Plain text, and formats that are read as such. HTML is not: it would be shown as its source.
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
    // A number that JavaScript cannot hold would become another one.
    return JSON.stringify(value) === text.trim() ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

/** @param {string} text */
function pre(text) {
  const made = document.createElement("pre");
  made.tabIndex = 0;
  made.setAttribute("role", "region");
  made.setAttribute("aria-labelledby", "shown-title");
  made.textContent = text;
  return made;
}

/**
 * An image runs no scripts, also an SVG.
 * @param {string} href
 */
async function image(href) {
  const made = new Image();
  made.alt = "The result of the task";
  made.src = href;
  await made.decode();
  return made;
}
