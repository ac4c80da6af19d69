/** The API reference: the operations of /openapi.json by task, each with a curl, its parameters, its body and its answers. */

import { quoted, sampleOf } from "../../../../words/sample.ts";
import { html, render, useEffect, useState } from "../preact.js";
import { prefix } from "../server.js";

/** @typedef {import("../../../../http/openapi/document.ts").OpenApiDocument} Api */
/** @typedef {import("../../../../http/openapi/document.ts").Operation} Operation */
/** @typedef {Record<string, any>} Schema a JSON Schema, whose references are replaced */
/** @typedef {{ id: string, methods: string[], path: string, operation: Operation }} Entry */

const place = document.getElementById("docs");
const hasKeys = place?.dataset.hasKeys === "true";
/** Where the dashboard keeps a key, too, for as long as the tab is open. */
const KEY = "paihao.key";
/** So deep are members of members shown. */
const MAX_DEPTH = 3;
const MAX_REFERENCES = 8;

/** A part of the document with what it refers to in place of the references. @param {any} part @param {Api} api @param {number} [depth] @returns {any} */
function whole(part, api, depth = 0) {
  if (Array.isArray(part)) return part.map((each) => whole(each, api, depth));
  if (typeof part !== "object" || part === null) return part;
  const { $ref, ...own } = part;
  if (typeof $ref !== "string")
    return Object.fromEntries(Object.entries(own).map(([name, each]) => [name, whole(each, api, depth)]));
  if (depth >= MAX_REFERENCES) return own;
  const [kind = "", name = ""] = $ref.split("/").slice(-2);
  return { ...whole(Reflect.get(Reflect.get(api.components, kind), name), api, depth + 1), ...own };
}

/** The operations of a document by task; those of one path that do the same are one. @param {Api} api */
function tasksOf(api) {
  /** @type {Map<string, Entry[]>} */
  const byTag = new Map(api.tags.map(({ name }) => [name, []]));
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const entries = byTag.get(operation.tags[0] ?? "") ?? [];
      const same = entries.find((entry) => entry.path === path && entry.operation.summary === operation.summary);
      if (same) same.methods.push(method.toUpperCase());
      else entries.push({ id: operation.operationId, methods: [method.toUpperCase()], path, operation });
    }
  }
  return api.tags.map(({ name, description }) => ({ name, description, entries: byTag.get(name) ?? [] }));
}

/** A text with what stands between backticks as code. @param {string | undefined} text */
const prose = (text = "") => text.split("`").map((part, n) => (n % 2 === 0 ? part : html`<code>${part}</code>`));

/** What a value may be, in words. @param {Schema} schema @returns {string} */
function typeOf(schema) {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(" | ");
  const some = schema.anyOf ?? schema.oneOf;
  if (some) return [...new Set(some.map(typeOf))].join(" | ");
  if (schema.type === "array") return `array of ${typeOf(schema.items ?? {})}`;
  const type = [schema.type ?? "any"].flat().join(" | ");
  const span = [
    schema.minimum !== undefined && `from ${schema.minimum}`,
    schema.maximum !== undefined && `to ${schema.maximum}`,
  ];
  return [schema.format ?? type, ...span].filter(Boolean).join(" ");
}

/** The object that a value is, or has in it; undefined if there is none. @param {Schema} schema @returns {Schema | undefined} */
function objectIn(schema) {
  if (schema.properties) return schema;
  const within = schema.items ? [schema.items] : (schema.anyOf ?? schema.oneOf ?? []);
  return within.map(objectIn).find(Boolean);
}

/** The members of an object, with those of the objects in it. @param {Schema | undefined} schema @param {number} [depth] @returns {import("../preact.js").Content} */
function members(schema, depth = 0) {
  const object = schema && objectIn(schema);
  if (!object || depth >= MAX_DEPTH) return null;
  return html`
    <dl class="members">
      ${Object.entries(object.properties).map(
        ([name, member]) => html`
          <div key=${name}>
            <dt><code>${name}</code> <span class="hint">${typeOf(/** @type {Schema} */ (member))}${object.required?.includes(name) ? "" : ", optional"}</span></dt>
            <dd>${prose(/** @type {Schema} */ (member).description)}${members(/** @type {Schema} */ (member), depth + 1)}</dd>
          </div>`,
      )}
    </dl>`;
}

/** How to send it from a terminal. @param {Entry} entry @param {Schema} operation */
function curlOf({ methods: [method = "GET"], path }, { parameters = [], requestBody, security = [] }) {
  const [type = "", body = {}] =
    /** @type {[string, Schema][]} */ (Object.entries(requestBody?.content ?? {}))[0] ?? [];
  const isJson = /json$/.test(type) && !/ndjson/.test(type);
  const sample = body.example ?? (isJson ? JSON.stringify(sampleOf(body.schema ?? {})) : "@file");
  const isNumbered = parameters.some((/** @type {Schema} */ { name }) => name === "Idempotency-Key");
  const at = `${location.origin}${prefix}${path.replace(/\{(\w+)\}/g, "$$$1")}`;
  return [
    `curl -i${method === "GET" ? "" : ` -X ${method}`} "${at}"`,
    hasKeys && security.length > 0 && '-H "Authorization: Bearer $PAIHAO_KEY"',
    isNumbered && "-H 'Prefer: respond-async'",
    type !== "" && `-H 'Content-Type: ${type === "*/*" ? "application/json" : type}'`,
    type !== "" && `--data-binary ${sample === "@file" ? sample : quoted(sample)}`,
  ]
    .filter(Boolean)
    .join(" \\\n  ");
}

/** Who may send it. @param {Schema} operation */
function scopesOf({ security = [] }) {
  if (security.length === 0) return "Needs no key.";
  const [{ key = [] }] = security;
  const scopes = key.length === 0 ? "any key" : `a key with the scope ${key.join(" or ")}, or admin`;
  return `Needs ${scopes}${security.some((/** @type {Schema} */ { link }) => link) ? "; or a signed link" : ""}, where the server has keys.`;
}

/** @param {{ entry: Entry, api: Api, isOpen: boolean }} props */
function Shown({ entry, api, isOpen }) {
  const [wasOpen, setOpen] = useState(isOpen);
  useEffect(() => void (isOpen && setOpen(true)), [isOpen]);
  const { id, methods, path, operation } = entry;
  return html`
    <details id=${id} class="operation" open=${wasOpen} onToggle=${(/** @type {Event} */ { currentTarget }) => setOpen(/** @type {HTMLDetailsElement} */ (currentTarget).open)}>
      <summary><span class="methods">${methods.map((method) => html`<b key=${method} class=${method.toLowerCase()}>${method}</b>`)}</span> <code>${path}</code> <span>${operation.summary}</span></summary>
      ${wasOpen && html`<${Details} entry=${entry} operation=${whole(operation, api)} />`}
    </details>`;
}

/** @param {{ entry: Entry, operation: Schema }} props */
function Details({ entry, operation }) {
  const { description, parameters = [], requestBody, responses } = operation;
  /** @param {[string, any]} content */
  const content = ([type, { schema }]) =>
    html`<p key=${type}><code>${type}</code> ${schema && html`<span class="hint">${typeOf(schema)}</span>`}</p>${members(schema)}`;
  return html`
    <div class="details">
      ${description?.split("\n\n").map((/** @type {string} */ text) => html`<p>${prose(text)}</p>`)}
      <p class="hint">${scopesOf(operation)} <a href="#${entry.id}">Link</a></p>
      <h3>Send</h3>
      <pre tabindex="0" role="group" aria-label="curl">${curlOf(entry, operation)}</pre>
      ${
        parameters.length > 0 &&
        html`
          <h3>Parameters</h3>
          <dl class="members">
            ${parameters.map(
              (/** @type {Schema} */ { name, in: where, required, description, schema }) => html`
                <div key="${where} ${name}">
                  <dt><code>${name}</code> <span class="hint">${where}, ${typeOf(schema)}${required ? "" : ", optional"}</span></dt>
                  <dd>${prose(description)}</dd>
                </div>`,
            )}
          </dl>`
      }
      ${requestBody && html`<h3>Body</h3><p>${prose(requestBody.description)}</p>${Object.entries(requestBody.content).map(content)}`}
      <h3>Answers</h3>
      <dl class="answers">
        ${Object.entries(responses).map(
          ([status, { description, content: contents = {} }]) => html`
            <div key=${status}><dt>${status === "default" ? "others" : status}</dt><dd>${prose(description)}${Object.entries(contents).map(content)}</dd></div>`,
        )}
      </dl>
    </div>`;
}

function Docs() {
  const [key, setKey] = useState(sessionStorage.getItem(KEY) ?? "");
  const [api, setApi] = useState(/** @type {Api | null} */ (null));
  const [part, setPart] = useState("");
  const [hash, setHash] = useState(location.hash.slice(1));
  useEffect(() => {
    const headers = key === "" ? {} : { Authorization: `Bearer ${key}` };
    fetch(`${prefix}/openapi.json`, { headers })
      .then((response) => response.json())
      .then(setApi, () => undefined);
  }, [key]);
  useEffect(() => {
    const follow = () => setHash(location.hash.slice(1));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => document.getElementById(hash)?.scrollIntoView(), [hash, api]);
  /** @param {SubmitEvent} event */
  function enter(event) {
    event.preventDefault();
    const given =
      event.target instanceof HTMLFormElement ? String(new FormData(event.target).get("key") ?? "").trim() : "";
    sessionStorage.setItem(KEY, given);
    setKey(given);
  }
  function forget() {
    sessionStorage.removeItem(KEY);
    setKey("");
  }
  if (!api) return html`<main aria-busy="true"><p>Loading …</p></main>`;
  const wanted = part.trim().toLowerCase();
  /** @param {Entry} entry */
  const isWanted = ({ path, methods, operation }) =>
    `${methods.join(" ")} ${path} ${operation.summary}`.toLowerCase().includes(wanted);
  const tasks = tasksOf(api)
    .map((task) => ({ ...task, entries: task.entries.filter(isWanted) }))
    .filter(({ entries }) => entries.length > 0);
  const { description, version, summary } = /** @type {Schema} */ (api.info);
  return html`
    <header class="top">
      <a class="brand" href="${prefix}/">Paihao</a> <span class="hint">${version}</span>
      <nav aria-label="Tasks">${tasks.map(({ name }) => html`<a key=${name} href="#${idOf(name)}">${name}</a>`)}</nav>
    </header>
    <main>
      <h1>API reference</h1>
      <p>${summary}</p>
      <p>Each operation has a curl to try it with. For programs: <a href="${prefix}/openapi.json">/openapi.json</a> (OpenAPI 3.1). Every error is a problem document (RFC 9457), whose <code>type</code> is a page that explains it.</p>
      ${
        hasKeys &&
        html`
          <form class="key" aria-label="Key" onSubmit=${enter}>
            ${
              key === ""
                ? html`<label>API key <input name="key" type="password" autocomplete="off" required /></label><button>Show my queues</button>`
                : html`<span>The queues of this server are shown by the key of this tab.</span><button type="button" onClick=${forget}>Remove the key</button>`
            }
            ${description && html`<p class="hint">${description}</p>`}
          </form>`
      }
      <input type="search" class="filter" placeholder="Filter: cancel, POST, /batches …" aria-label="Filter operations" value=${part}
        onInput=${(/** @type {Event} */ { target }) => target instanceof HTMLInputElement && setPart(target.value)} />
      ${tasks.map(
        ({ name, description, entries }) => html`
          <section key=${name} id=${idOf(name)} aria-labelledby="${idOf(name)}-title">
            <h2 id="${idOf(name)}-title">${name}</h2>
            <p>${description}</p>
            ${entries.map((entry) => html`<${Shown} key=${entry.id} entry=${entry} api=${api} isOpen=${entry.id === hash} />`)}
          </section>`,
      )}
      ${tasks.length === 0 && html`<p>No operation matches.</p>`}
    </main>`;
}

/** @param {string} task */
const idOf = (task) => `task-${task.toLowerCase().replaceAll(" ", "-")}`;

if (place) render(html`<${Docs} />`, place);
