// What swagger-ui-bundle.js, which is loaded first, leaves in the window.
const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle(options: object): void }} */ (/** @type {unknown} */ (window));

/** The key that was entered; "" for none. */
let key = "";

/** With a key the description names the queues of the server, so it is loaded again when one is entered or removed. */
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

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  // Nothing is sent to anyone: this server has no validator, and asks none on the net.
  validatorUrl: null,
  plugins: [reloadWithKey],
  requestInterceptor: (/** @type {{ loadSpec?: boolean, headers: Record<string, string> }} */ request) => {
    if (request.loadSpec && key !== "") request.headers.Authorization = `Bearer ${key}`;
    return request;
  },
});
