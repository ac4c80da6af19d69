/**
 * Text that a page shows as it is written. It is added a few times a second, since each time the browser lays it out anew, and only its
 * end is kept.
 */

import { useLayoutEffect, useReducer, useRef, useState } from "./preact.js";

/** How many characters at the end stay in the page, plus those of a part of the oldest piece. */
const MAX_CHARS = 65_536;
/** The length at which a text node is complete; the oldest node is removed as a whole. */
const PIECE_CHARS = 4096;
/** How often text is added, ms: as fast as people read. */
const DRAW_MS = 150;
/** The view follows the end if it is closer than this. */
const NEAR_PX = 40;

class OutputText {
  /** Holds the text; place it in an element that scrolls. */
  element = document.createElement("span");
  /** What has come since text was last added. */
  #fresh = "";
  #chars = 0;
  #isPlanned = false;
  #isCut = false;
  #run = 0;
  #onChange;

  /** @param {() => void} onChange called when the text begins, and when its beginning leaves the page */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** Whether there is anything to see. */
  get isEmpty() {
    return this.#chars === 0 && this.#fresh === "";
  }

  /** Whether the beginning has left the page. */
  get isCut() {
    return this.#isCut;
  }

  /**
   * Adds a value: a string as it is, anything else as a line of JSON. A new run of the task starts the text anew.
   * @param {{ run: number, data: unknown }} value
   */
  add({ run, data }) {
    if (run !== this.#run) this.#clear();
    this.#run = run;
    const isFirst = this.isEmpty;
    this.#fresh += typeof data === "string" ? data : `${JSON.stringify(data)}\n`;
    if (isFirst) this.#onChange();
    // A tab in the background seldom draws.
    if (this.#fresh.length > 2 * MAX_CHARS) {
      this.#empty();
      this.#fresh = this.#fresh.slice(-MAX_CHARS);
      this.#cut();
    }
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setTimeout(() => this.#draw(), DRAW_MS);
  }

  #clear() {
    this.#empty();
    this.#fresh = "";
    this.#isCut = false;
  }

  #empty() {
    this.element.replaceChildren();
    this.#chars = 0;
  }

  #cut() {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#onChange();
  }

  #draw() {
    this.#isPlanned = false;
    const view = this.element.parentElement;
    // A reader who has scrolled up stays there.
    const follows = view !== null && view.scrollHeight - view.scrollTop - view.clientHeight < NEAR_PX;
    for (let from = 0; from < this.#fresh.length; from += PIECE_CHARS) {
      this.#append(this.#fresh.slice(from, from + PIECE_CHARS));
    }
    this.#fresh = "";
    if (follows) view.scrollTop = view.scrollHeight;
  }

  /** @param {string} text */
  #append(text) {
    const last = this.element.lastChild;
    if (last instanceof Text && last.length < PIECE_CHARS) last.appendData(text);
    else this.element.append(text);
    this.#chars += text.length;
    for (;;) {
      const first = this.element.firstChild;
      if (!(first instanceof Text) || this.#chars - first.length < MAX_CHARS) return;
      first.remove();
      this.#chars -= first.length;
      this.#cut();
    }
  }
}

/** The output of a task, and the element for it, if there is output. */
export function useOutputText() {
  const [, redraw] = useReducer((times) => times + 1, 0);
  const [text] = useState(() => new OutputText(() => redraw(undefined)));
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => place.current?.append(text.element), [text.isEmpty]);
  return { text, place };
}

/**
 * The values of a response of JSON lines, as they arrive.
 * @param {Response} response
 * @returns {AsyncGenerator<any>}
 */
export async function* jsonLines({ body }) {
  let rest = "";
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const lines = (rest + part.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line);
  }
}
