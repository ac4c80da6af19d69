/** Preact, its hooks and htm. */

import { html as tagged } from "htm/preact";

export { createContext, render } from "preact";
export { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";

/** @typedef {import("preact").ComponentChildren} Content */

/**
 * Elements and components, written as HTML. Inserted values become text, attributes or elements, and are never parsed as HTML.
 */
export const html = /** @type {(strings: TemplateStringsArray, ...values: unknown[]) => Content} */ (tagged);
