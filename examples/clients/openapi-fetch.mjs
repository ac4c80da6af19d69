// Submits a task, watches it and prints its result, with openapi-fetch, whose types come from the server's own description:
//   npm install openapi-fetch && npx openapi-typescript http://127.0.0.1:3000/openapi.json -o paihao.d.ts
// Paths, parameters and inputs are checked. The type of a result is not known.
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";

/** @typedef {import("./paihao.d.ts").components["schemas"]} Schemas */
/** @type {import("openapi-fetch").Client<import("./paihao.d.ts").paths>} */
const client = createClient({
  baseUrl: process.env.PAIHAO_URL ?? "http://127.0.0.1:3000",
  headers: process.env.PAIHAO_KEY ? { Authorization: `Bearer ${process.env.PAIHAO_KEY}` } : {},
});

/** Throws what the server says. @param {unknown} problem */
function refuse(problem) {
  const { title, detail = "" } = /** @type {Schemas["Problem"]} */ (problem);
  throw new Error(`${title}: ${detail}`);
}

// With our own id: if the answer is lost, the repeated request is the same task.
const id = randomUUID();
const submitted = await client.PUT("/v1/queues/{queue}/requests/{id}", {
  params: { path: { queue: "default", id }, header: { Prefer: "respond-async" } },
  body: { seconds: 1 },
});
if (submitted.error) refuse(submitted.error);
const accepted = /** @type {Schemas["Pending"]} */ (submitted.data);
console.log("place", accepted.index);

// Long polls: each is answered when the task has changed, or with 304 after 20 seconds.
let tag = "";
for (;;) {
  const { data, error, response } = await client.GET("/v1/requests/{id}/status", {
    params: { path: { id }, header: { Prefer: "wait=20", "If-None-Match": tag } },
  });
  if (response.status === 304) continue;
  if (!data) refuse(error);
  tag = response.headers.get("ETag") ?? "";
  const task = /** @type {Schemas["Task"]} */ (data);
  console.log(task.state, task.progress?.percent ?? 0, "%");
  if (task.finishedAt) break;
}

const { data, error } = await client.GET("/v1/requests/{id}", { params: { path: { id } } });
if (error) refuse(error);
console.log(JSON.stringify(data));
