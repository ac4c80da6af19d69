/** The keys of the page. */

import { html, useEffect } from "../preact.js";

/** @typedef {import("./parts/dialog.js").Question} Question */

const KEYS = [
  ["Ctrl K", "go to a queue or a page, pause a queue"],
  ["/", "search"],
  ["j", "the next row of a list"],
  ["k", "the row before"],
  ["Enter", "open the row"],
  ["?", "these keys"],
];

/** @type {Question} */
export const keysQuestion = {
  title: "Keys",
  body: html`<dl class="facts">${KEYS.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl>`,
  submit: "Close",
  otherwise: null,
};

/** Acts on the keys, except where a person types or is asked something. @param {{ onMenu: () => void }} does */
export function useKeys({ onMenu }) {
  useEffect(() => {
    /** @type {Readonly<Record<string, () => void>>} */
    const acts = {
      "/": () => document.getElementById("find-text")?.focus(),
      "?": () => document.getElementById("keys")?.click(),
      j: () => moveBy(1),
      k: () => moveBy(-1),
    };
    /** @param {KeyboardEvent} event */
    function act(event) {
      const { key, target } = event;
      const isAsked = document.querySelector("dialog[open]") !== null;
      if (key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
        event.preventDefault();
        if (!isAsked) onMenu();
        return;
      }
      const isTyping =
        target instanceof Element && target.closest("input:not([type=checkbox]), textarea, select") !== null;
      const does = Object.hasOwn(acts, key) ? acts[key] : undefined;
      const isOther = event.metaKey || event.ctrlKey || event.altKey || isAsked;
      if (!does || isTyping || isOther) return;
      event.preventDefault();
      does();
    }
    addEventListener("keydown", act);
    return () => removeEventListener("keydown", act);
  }, []);
}

/** Focuses the link of another row, from that of the row which has the focus. @param {number} step */
function moveBy(step) {
  const links = [...document.querySelectorAll("main tbody tr")].flatMap((row) => row.querySelector("a") ?? []);
  const now = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  links[now < 0 ? 0 : now + step]?.focus();
}
