/** The parts of the page around the views. */

/**
 * An element of the page that is there.
 * @param {string} id
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let silence;

/**
 * Says what an action has done, also to a screen reader.
 * @param {string} text
 */
export function say(text) {
  byId("said").textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => byId("said").replaceChildren(), 8000);
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
