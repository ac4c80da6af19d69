import type { Handler } from "../../handler/define.ts";
import { needOf } from "../security/scopes.ts";
import { allocationPaths } from "./allocations.ts";
import { headerRefs, headers } from "./headers.ts";
import { inputSchemas } from "./inputs.ts";
import { parameterRefs, parameters } from "./parameters.ts";
import { queuePaths } from "./queues.ts";
import { schemas } from "./schemas.ts";
import { servicePaths } from "./service.ts";
import { shareResponses } from "./shared.ts";
import { submitPaths, taskPaths } from "./tasks.ts";
import type { Method, OpenApiDocument, Operation, Paths, Reference, Response } from "./types.ts";
import { leaseSchemas, workerPaths } from "./workers.ts";

const TAGS = [
  { name: "Submit", description: "Hand in tasks, and take them back." },
  { name: "Watch", description: "Place in line, estimate, progress, result." },
  { name: "Queues", description: "Lines of waiting work; each has one handler." },
  { name: "Dead letters", description: "Tasks whose attempts are used up." },
  { name: "Allocated ids", description: "The dialect in which the server hands out ids first." },
  { name: "Workers", description: "Workers in any language." },
  { name: "Gateway", description: "Existing HTTP APIs behind a line." },
  { name: "Operations", description: "For whoever runs the server." },
];

const SECURITY_SCHEMES = {
  key: { type: "http", scheme: "bearer", description: "An API key; not asked for where the server has none." },
  link: { type: "apiKey", in: "query", name: "signature", description: "A signed link to one task, with `expires`." },
};

/** Describes the whole API, with what the handlers of this server accept. */
export function openApiDocument(handlers: readonly Handler[], version: string): OpenApiDocument {
  const all = merged(submitPaths(handlers), taskPaths, queuePaths, allocationPaths, workerPaths, servicePaths);
  const completedPaths = Object.fromEntries(
    Object.entries(all).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries(item ?? {}).map(([method, operation]) => [method, completed(path, method as Method, operation)]),
      ),
    ]),
  );
  const { paths, responses } = shareResponses(completedPaths);
  return {
    openapi: "3.1.0",
    info: {
      title: "Paihao",
      version,
      summary: "A task server for slow work behind HTTP: take a number, see your place in line, collect the result.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    paths,
    components: {
      schemas: Object.assign({}, schemas, leaseSchemas, ...handlers.map(inputSchemas)),
      responses,
      parameters,
      headers,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** Puts the operations of one path together, wherever they come from. */
function merged(...parts: readonly Paths[]): Paths {
  const all: Record<string, Paths[string]> = {};
  for (const part of parts) {
    for (const [path, item] of Object.entries(part)) all[path] = { ...all[path], ...item };
  }
  return all;
}

/** Adds what follows from an operation's path: its parameters, who may do it, and what every answer has. */
function completed(path: string, method: Method, operation: Operation): Operation {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as keyof typeof parameters);
  return {
    ...operation,
    parameters: [...parameterRefs(...names), ...(operation.parameters ?? [])],
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [status, withCommonHeaders(response)]),
    ),
    security: securityOf(path, method),
  };
}

function withCommonHeaders(response: Response | Reference): Response | Reference {
  if ("$ref" in response) return response;
  return {
    ...response,
    headers: { ...headerRefs("X-Request-Id", "RateLimit", "RateLimit-Policy"), ...response.headers },
  };
}

/** Whoever may do it, as the routes are guarded; `{}`: also without a key, on a server that has none. */
function securityOf(path: string, method: Method): NonNullable<Operation["security"]> {
  const need = needOf(method.toUpperCase(), path.replace(/\{\w+\}/g, "x"));
  if (need?.scopes === "none") return [];
  const scopes = need === undefined ? ["admin"] : need.scopes === "any" ? [] : need.scopes;
  return [{ key: scopes }, ...(need?.reads === undefined ? [] : [{ link: [] }]), {}];
}
