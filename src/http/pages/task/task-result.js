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
    const bytes = Number(head.headers.get("Content-Length") ?? 0);
    describe(type, bytes);
    if (bytes === 0) return;
    if (type.startsWith("image/") && bytes <= MOST.image) value.replaceChildren(await image(href));
    else if (isText(type) && bytes <= MOST.text) {
      const response = await fetch(href);
      if (!response.ok) return;
      value.replaceChildren(pre(textOf(type, await response.text())));
    } else return;
    section.hidden = false;
  } catch {
    // The link is still there.
  }
}

/**
 * @param {string} type
 * @param {number} bytes
 */
function describe(type, bytes) {
  const size = document.getElementById("size");
  const link = document.getElementById("result");
  if (!size || !link) return;
  if (bytes === 0) {
    size.textContent = "The task has no result to show.";
    link.hidden = true;
  } else size.textContent = `${type === "" ? "" : `${type}, `}${sizeOf(bytes)}`;
}

/** @param {number} bytes */
function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
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
