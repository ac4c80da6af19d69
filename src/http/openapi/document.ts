import type { Handler } from "../../handler/define.ts";
import { Portions } from "../../portions.ts";
import { EXTRAS } from "../extras.ts";
import { ROUTES, type Route, type RouteName, type Routes } from "../routes.ts";
import { headerRefs, headers } from "./headers.ts";
import { groupOperations } from "./operations/groups.ts";
import { queueOperations } from "./operations/queues.ts";
import { serviceOperations } from "./operations/service.ts";
import { submitOperation, submitOperations, taskOperations } from "./operations/tasks.ts";
import { workerOperations } from "./operations/workers.ts";
import { parameterRefs, parameters } from "./parameters.ts";
import { inputSchemas } from "./schemas/inputs.ts";
import { schemas } from "./schemas/schemas.ts";
import { shareResponses } from "./shared.ts";
import type {
  Method,
  OpenApiDocument,
  Operation,
  Operations,
  OperationText,
  Paths,
  Reference,
  Response,
  Schema,
} from "./types.ts";

const TAGS = [
  { name: "Submit", description: "Submit tasks, and cancel them." },
  { name: "Watch", description: "Place in line, estimate, progress, result." },
  { name: "Groups", description: "Many tasks with one number." },
  { name: "Queues", description: "Lines of waiting tasks; each queue has one handler." },
  {
    name: "Dead letters",
    description: "Failed tasks that can be retried: they used up their attempts, or lost their worker too often.",
  },
  { name: "Allocated ids", description: "The dialect in which the server allocates the id first." },
  { name: "Workers", description: "Workers in any language." },
  { name: "Gateway", description: "Existing HTTP APIs behind a line." },
  { name: "Operations", description: "For the operator of the server." },
];

const SECURITY_SCHEMES = {
  key: { type: "http", scheme: "bearer", description: "An API key; not needed if the server has no keys." },
  link: {
    type: "apiKey",
    in: "query",
    name: "signature",
    description: "A signed link to one task or group, with `expires`.",
  },
};

/** Describes the whole API, with the inputs that the handlers of this server accept. */
export async function openApiDocument(
  handlers: readonly Handler[],
  version: string,
  description?: string,
): Promise<OpenApiDocument> {
  const { paths, responses } = shareResponses(await pathsOf(handlers));
  const inputs: Record<string, Schema> = {};
  const portions = new Portions();
  for (const handler of handlers) {
    Object.assign(inputs, inputSchemas(handler));
    Object.assign(paths, pathTo(handler, paths));
    await portions.pause();
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Paihao",
      version,
      summary: "A task server for slow work behind HTTP: take a number, see your place in line, collect the result.",
      ...(description !== undefined && { description }),
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    paths,
    components: {
      schemas: { ...schemas(), ...inputs },
      responses,
      parameters,
      headers,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** The operations of all routes, by path and method. */
async function pathsOf(handlers: readonly Handler[]): Promise<Paths> {
  const core: Operations<RouteName> = {
    ...submitOperations(handlers),
    ...taskOperations,
    ...groupOperations,
    ...queueOperations,
    ...workerOperations,
    ...serviceOperations,
  };
  const paths: Record<string, Partial<Record<Method, Operation>>> = {};
  const describe = (routes: Routes, operations: Partial<Operations<string>> = {}) => {
    for (const [name, route] of Object.entries(routes)) {
      const operation = operations[name];
      if (!operation) continue;
      const path = route.path.replace(/:(\w+)|\{\*(\w+)\}/g, "{$1$2}");
      for (const method of route.methods.map((upper) => upper.toLowerCase() as Method)) {
        const operationId = route.methods.length === 1 ? name : `${method}${name[0]?.toUpperCase()}${name.slice(1)}`;
        paths[path] = { ...paths[path], [method]: completed(operation, { route, path, method, operationId }) };
      }
    }
  };
  describe(ROUTES, core);
  for (const { routes, operations } of EXTRAS) describe(routes, await operations?.());
  return paths;
}

/** The path for submissions to the queue of a handler; its responses are those for any queue, which are shared. */
function pathTo(handler: Handler, paths: Paths): Paths {
  const path = ROUTES.submitTo.path.replace(":queue", handler.queue);
  const at = { route: ROUTES.submitTo, path, method: "post", operationId: `submit-${handler.queue}` } as const;
  const responses = paths[ROUTES.submitTo.path.replace(":queue", "{queue}")]?.post?.responses ?? {};
  return { [path]: { post: { ...completed({ ...submitOperation(handler), responses: {} }, at), responses } } };
}

/** Adds to an operation what follows from its route: parameters, security, and the headers of every response. */
function completed(
  { requestBody, ...text }: OperationText,
  { route, path, method, operationId }: { route: Route; path: string; method: Method; operationId: string },
): Operation {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as keyof typeof parameters);
  return {
    operationId,
    ...text,
    // The body of a GET has no meaning (RFC 9110 §9.3.1).
    ...(requestBody && method !== "get" && method !== "head" && { requestBody }),
    parameters: [...parameterRefs(...names), ...(text.parameters ?? [])],
    responses: Object.fromEntries(
      Object.entries(text.responses).map(([status, response]) => [status, withCommonHeaders(response)]),
    ),
    security: securityOf(route),
  };
}

function withCommonHeaders(response: Response | Reference): Response | Reference {
  if ("$ref" in response) return response;
  return {
    ...response,
    headers: { ...headerRefs("X-Request-Id", "RateLimit", "RateLimit-Policy"), ...response.headers },
  };
}

/** Who may call it; `{}` stands for a server without keys. */
function securityOf({ scopes, signedLink }: Route): NonNullable<Operation["security"]> {
  if (scopes === "none") return [];
  return [{ key: scopes === "any" ? [] : scopes }, ...(signedLink ? [{ link: [] }] : []), {}];
}
