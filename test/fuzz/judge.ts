import { errorEntries } from "../../src/errors.ts";
import type { Contract } from "../helpers/http/contract.ts";
import type { Answer } from "../helpers/http/server.ts";

/** Codes that may stand in an answer of 500 and more. */
const DOCUMENTED = new Set(["task-failed", "task-timeout", "worker-lost"]);
const ID = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;

/** What is wrong with an answer, whatever was asked; nothing when all is as promised. */
export function complaints(method: string, target: string, answer: Answer, contract: Contract): string[] {
  const { status, headers } = answer;
  // What Node's parser refuses never comes as far as the server.
  if (headers["x-request-id"] === undefined && status === 400 && answer.body.length === 0) return [];
  const found: string[] = [];
  if (!ID.test(String(headers["x-request-id"]))) found.push(`X-Request-Id is ${headers["x-request-id"]}`);
  // A handler's own answer may be anything; it says of which state the task is.
  const ofTask = headers["x-task-state"] === "failed" || headers["x-task-state"] === "succeeded";
  if (status >= 400 && !ofTask) found.push(...problemComplaints(method, answer));
  if (isDescribed(method, target, answer, contract)) found.push(...contract.violations(method, target, answer));
  return found;
}

function problemComplaints(method: string, answer: Answer): string[] {
  const { status, headers, text } = answer;
  const type = headers["content-type"] ?? "";
  // A page for a person, and the readiness of the server.
  if (type.startsWith("text/html") || (status === 503 && text.startsWith('{"status":"not ready"'))) return [];
  if (!type.startsWith("application/problem+json")) return [`${status} is no problem document but ${type}`];
  if (method === "HEAD") return [];
  const problem = JSON.parse(text) as Record<string, unknown>;
  const entry = errorEntries.find(({ code }) => problem.type === `/problems/${code}`);
  if (!entry) return [`the type ${problem.type} is not in the catalogue`];
  const wrong: string[] = [];
  if (problem.status !== status || entry.status !== status) wrong.push(`status ${status}, but ${text}`);
  if (typeof problem.title !== "string") wrong.push(`no title: ${text}`);
  if (status === 500 && !DOCUMENTED.has(entry.code)) wrong.push(`undocumented: ${text}`);
  if (status === 503 && !/^[1-9]\d*$/.test(String(headers["retry-after"]))) wrong.push("503 without Retry-After");
  return wrong;
}

/** Whether a request comes to an operation of the description, as its path is written and not only as it is understood. */
function isDescribed(method: string, target: string, answer: Answer, contract: Contract): boolean {
  const [path = ""] = target.split("?");
  if (/[^A-Za-z0-9._~/-]|\/\.{1,2}(\/|$)|\/\/|.\/$/.test(path)) return false;
  const none = /\/problems\/(not-found|method-not-allowed)"/.test(answer.text.slice(0, 200));
  return !none && contract.describes(method, path);
}
