// @ts-expect-error it has no types
import SwaggerUIBundle from "swagger-ui-dist/swagger-ui-bundle.js";
import { prefix } from "../server.js";

const hasKeys = document.getElementById("docs")?.dataset.hasKeys === "true";

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

/** The key that was entered; "" for none. */
let key = "";

/** With a key the description includes the queues of the server, so it is loaded again when a key is entered or removed. */
const reloadWithKey = () => {
  /**
   * @typedef {Record<string, { value?: string }>} Entered
   * @typedef {{ specActions: { download(url: string): void }, specSelectors: { url(): string } }} System
   * @param {(entered: Entered) => string} keyOf
   */
  const then =
    (keyOf) =>
    (/** @type {(entered: Entered) => unknown} */ original, /** @type {System} */ system) =>
    (/** @type {Entered} */ payload) => {
      const result = original(payload);
      key = keyOf(payload);
      system.specActions.download(system.specSelectors.url());
      return result;
    };
  const wrapActions = { authorize: then((auth) => auth.key?.value ?? key), logout: then(() => "") };
  return { statePlugins: { auth: { wrapActions } } };
};

const nothing = () => () => null;

/** Replaces what Swagger UI offers only to mouse users. */
const accessible = () => {
  /** @typedef {{ React: { createElement(type: unknown, props: object, ...children: unknown[]): unknown } }} System */
  const wrapComponents = {
    // There is only this server.
    ServersContainer: nothing,
    // A link within the button that opens an operation. That puts the operation into the address as well.
    DeepLink:
      () =>
      (/** @type {{ text: unknown }} */ { text }) =>
        text,
    // The operations stand under a heading of their own.
    InfoContainer:
      (/** @type {unknown} */ original, /** @type {System} */ { React }) =>
      (/** @type {object} */ props) =>
        React.createElement(
          "section",
          { "aria-label": "About this API" },
          React.createElement(original, props),
          React.createElement("h2", { className: "unseen" }, "Operations"),
        ),
    // Screen readers that jump between landmarks miss what is outside of them.
    // Without keys there is nothing to enter.
    ...(!hasKeys && { AuthorizeBtnContainer: nothing, authorizeOperationBtn: nothing }),
    SchemesContainer:
      (/** @type {unknown} */ original, /** @type {System} */ { React }) =>
      (/** @type {object} */ props) =>
        hasKeys && React.createElement("section", { "aria-label": "Key" }, React.createElement(original, props)),
  };
  return { wrapComponents };
};

SwaggerUIBundle({
  url: `${prefix}/openapi.json`,
  dom_id: "#docs",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  // No validator: this server has none, and the public one must not be asked.
  validatorUrl: null,
  plugins: [reloadWithKey, accessible],
  requestInterceptor: (/** @type {{ loadSpec?: boolean, headers: Record<string, string> }} */ request) => {
    if (request.loadSpec && key !== "") request.headers.Authorization = `Bearer ${key}`;
    return request;
  },
});
