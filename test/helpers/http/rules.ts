import { errorEntries } from "../../../src/errors.ts";
import type { Answer } from "./answer.ts";

/** Codes that may stand in an answer of 500. */
const DOCUMENTED = new Set(["task-failed", "task-timeout", "worker-lost"]);
const ID = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;
/** What caches may keep, and ask for again: pages and documents that are the same while the server runs. */
const ASSETS = /^\/($|favicon\.ico$|docs|dashboard|pages|openapi\.json|problems\/)/;
/** The shortest list that may be sent in pieces. */
const LONG_BYTES = 16 * 1024;

/** Whether an answer is a handler's own, which may be anything: it says of which state the task is. */
export function isOfHandler({ headers }: Answer): boolean {
  return headers["x-task-state"] === "failed" || headers["x-task-state"] === "succeeded";
}

/** Which rules of every answer one breaks, whatever was asked (RFC 9110, RFC 7240, RFC 9457). */
export function ruleViolations(method: string, path: string, answer: Answer): string[] {
  const { status, headers } = answer;
  const isOurs = !isOfHandler(answer);
  const type = headers["content-type"] ?? "";
  const broken = new Map<string, boolean>([
    [`X-Request-Id is ${headers["x-request-id"]}`, !ID.test(String(headers["x-request-id"]))],
    ["X-Content-Type-Options is not nosniff", headers["x-content-type-options"] !== "nosniff"],
    ["Vary lacks Prefer", path.startsWith("/v1/") && isRouted(status) && !/\bPrefer\b/.test(String(headers.vary))],
    ["Cache-Control lacks no-store", isOurs && !mayBeKept(path, status) && !forbidsStoring(answer)],
    ["no Content-Length", isOurs && method !== "HEAD" && hasLength(type) && !isWhole(answer)],
    [`a body with ${status}`, (status === 204 || status === 304) && answer.body.length > 0],
    ["Content-Length with 204", status === 204 && headers["content-length"] !== undefined],
    ["no Retry-After", isOurs && method !== "HEAD" && isForLater(path, status, type) && !isAfter(answer)],
  ]);
  const rules = [...broken].flatMap(([rule, isBroken]) => (isBroken ? [rule] : []));
  if (isOurs && method !== "HEAD" && (status === 202 || status === 404)) rules.push(...pendingViolations(answer));
  return status >= 400 && isOurs ? [...rules, ...problemViolations(method, answer)] : rules;
}

/** What cannot be parsed, or is too long, comes to no route. */
const isRouted = (status: number) => status !== 431 && status !== 414;
const mayBeKept = (path: string, status: number) => status < 400 && ASSETS.test(path);
/** Streams of events say what browsers of EventSource expect (HTML §9.2.7). */
const forbidsStoring = ({ headers }: Answer) =>
  /^text\/event-stream/.test(headers["content-type"] ?? "")
    ? headers["cache-control"] === "no-cache, no-transform"
    : /\bno-store\b/.test(headers["cache-control"] ?? "");
const isProblem = (type: string) => type.startsWith("application/problem+json");
const hasLength = (type: string) => isProblem(type) || type.startsWith("application/json");
/** A long list is sent in pieces. */
const isWhole = ({ headers, body }: Answer) =>
  Number(headers["content-length"]) === body.length ||
  (headers["transfer-encoding"] === "chunked" && (body.length > LONG_BYTES || headers["content-encoding"] === "gzip"));
/** What is worth asking again: a refusal that passes, and the monitor of a task that is pending. */
const isForLater = (path: string, status: number, type: string) =>
  status === 202 ? /^\/v1\/requests\/[^/]+\/status$/.test(path) : [429, 503, 504].includes(status) && isProblem(type);
const isAfter = ({ headers }: Answer) => /^[1-9]\d*$/.test(headers["retry-after"] ?? "");

/** What the headers of a pending task do not say as its body does: gateways replace bodies. */
function pendingViolations({ headers, text }: Answer): string[] {
  if (!text.startsWith('{"rel":"self"') && !text.startsWith('{"type":"/problems/pending"')) return [];
  const { href, state, index, eta, links } = JSON.parse(text);
  const monitor = links.find(({ rel }: { rel: string }) => rel === "monitor")?.href;
  const told = (value: unknown) => (value === null || value === undefined ? undefined : String(value));
  const wrong = {
    Location: headers.location !== href,
    "Operation-Location": !String(headers["operation-location"]).endsWith(monitor),
    Link: !String(headers.link).includes(`<${monitor}>; rel="monitor"`),
    "Retry-After": !/^[1-9]\d*$/.test(headers["retry-after"] ?? ""),
    "X-Task-State": headers["x-task-state"] !== state,
    "X-Queue-Index": headers["x-queue-index"] !== told(index),
    "X-Queue-ETA": headers["x-queue-eta"] !== told(eta?.seconds),
  };
  return Object.entries(wrong).flatMap(([name, isWrong]) => (isWrong ? [`${name} is not as in the body`] : []));
}

/** What is wrong with a refusal. */
function problemViolations(method: string, { status, headers, text }: Answer): string[] {
  const type = headers["content-type"] ?? "";
  // A page for a person, the readiness of the server, and an error of JSON-RPC.
  const isReadiness = status === 503 && text.startsWith('{"status":"not ready"');
  if (type.startsWith("text/html") || isReadiness || text.startsWith('{"jsonrpc":"2.0"')) return [];
  if (!isProblem(type)) return [`${status} is no problem document but ${type}`];
  if (method === "HEAD") return [];
  const problem = JSON.parse(text) as Record<string, unknown>;
  // Node's own limit of a head has no code (RFC 9457 §4.2.1).
  if (status === 431 && problem.type === "about:blank") return [];
  const entry = errorEntries.find(({ code }) => problem.type === `/problems/${code}`);
  if (!entry) return [`the type ${problem.type} is not in the catalogue`];
  return [
    ...(problem.status === status && entry.status === status ? [] : [`the status of its problem is ${problem.status}`]),
    ...(problem.title === entry.title ? [] : [`the title of its problem is ${problem.title}`]),
    ...(status === 500 && !DOCUMENTED.has(entry.code) ? [`${entry.code} is a defect of the server`] : []),
  ];
}
