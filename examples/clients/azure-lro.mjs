// Submits a task and waits for its result with the poller of the Azure SDK for long-running operations. It knows nothing of this
// server: it reads Operation-Location, Location, Retry-After, and the `status` of the monitor.
//   npm install @azure/core-lro
import { createHttpPoller } from "@azure/core-lro";

const url = process.env.PAIHAO_URL ?? "http://127.0.0.1:3000";
const key = process.env.PAIHAO_KEY ? { Authorization: `Bearer ${process.env.PAIHAO_KEY}` } : {};

/** A request in the form that the poller expects. */
async function send(method, path, { body, headers, signal } = {}) {
  const response = await fetch(new URL(path, url), { method, headers: { ...key, ...headers }, body, signal });
  const text = await response.text();
  const parsed = text === "" ? undefined : JSON.parse(text);
  const request = { method, url: path, body };
  const raw = { statusCode: response.status, headers: Object.fromEntries(response.headers), body: parsed, request };
  return { rawResponse: raw, flatResponse: parsed };
}

const poller = createHttpPoller({
  sendInitialRequest: () =>
    send("POST", "/v1/queues/default/requests", {
      body: JSON.stringify({ seconds: 1 }),
      headers: { "Content-Type": "application/json", Prefer: "respond-async" },
    }),
  sendPollRequest: (path, options) => send("GET", path, { signal: options?.abortSignal }),
});
poller.onProgress((state) => console.log(state.status));
console.log(JSON.stringify(await poller.pollUntilDone()));
