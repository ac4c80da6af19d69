/** Preact, its hooks and htm, which a page loads before this script. */

/** @typedef {import("preact").ComponentChildren} Content */
/** @typedef {{ preact: typeof import("preact"), preactHooks: typeof import("preact/hooks"), htm: typeof import("htm").default }} Loaded */

const { preact, preactHooks, htm } = /** @type {Loaded} */ (/** @type {unknown} */ (window));

export const { createContext, render } = preact;
export const { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } = preactHooks;

/**
 * Elements and components, written as HTML. Inserted values become text, attributes or elements, and are never parsed as HTML.
 */
export const html = /** @type {(strings: TemplateStringsArray, ...values: unknown[]) => Content} */ (
  htm.bind(preact.h)
);
