/** Shows what a task writes while it runs, on its page. */

/** @typedef {{ run: number, data: unknown }} Output */

/** The page shows the end of longer output, in characters. */
const MOST_CHARS = 20_000;
/** Of a task that has ended, so much output is read, in bytes. */
const MOST_BYTES = 1_000_000;

let run = 0;
let cut = false;

/**
 * Adds a value: a string as it is, anything else as a line of JSON. When a task starts anew, what it wrote before no longer counts.
 * @param {Output} output
 */
export function addOutput({ run: ofRun, data }) {
  const text = document.getElementById("output-text");
  const section = document.getElementById("output");
  if (!text || !section) return;
  if (ofRun > run) {
    text.textContent = "";
    cut = false;
  }
  run = ofRun;
  section.hidden = false;
  // It scrolls, also by keyboard.
  text.tabIndex = 0;
  // Who has scrolled up to read stays there.
  const atEnd = text.scrollHeight - text.scrollTop - text.clientHeight < 40;
  let shown =
    (text.textContent ?? "").slice(cut ? 2 : 0) + (typeof data === "string" ? data : `${JSON.stringify(data)}\n`);
  cut ||= shown.length > MOST_CHARS;
  shown = shown.slice(-MOST_CHARS);
  text.textContent = cut ? `…\n${shown}` : shown;
  if (atEnd) text.scrollTop = text.scrollHeight;
}

/**
 * Reads the output of a task that has ended.
 * @param {string} href
 */
export async function readOutput(href) {
  try {
    const response = await fetch(href, { headers: { Prefer: "wait=0" } });
    if (!response.ok || !response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let bytes = 0; bytes < MOST_BYTES; ) {
      const { value, done } = await reader.read();
      if (done) return;
      bytes += value.length;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) addOutput(JSON.parse(line));
    }
    await reader.cancel();
  } catch {
    // The page does without.
  }
}
