// What swagger-ui-bundle.js, which is loaded first, leaves in the window.
const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle(options: object): void }} */ (/** @type {unknown} */ (window));

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
});
