import type { z } from "zod";
import type { Handler } from "../../handler/define.ts";
import { Portions } from "../../portions.ts";
import type {
  Answers,
  DescribedRoute,
  Header,
  Parameter,
  Reference,
  RequestBody,
  Response,
  Route,
  Schema,
} from "../route.ts";
import { inputBody, inputSchemas } from "./inputs.ts";
import { parameterRefs, parameters } from "./parameters.ts";
import { headerRefs, headers, responseRef, responses } from "./responses.ts";
import { schemas } from "./schemas.ts";

const TAGS: OpenApiDocument["tags"] = [
  { name: "Submit", description: "Submit tasks, and cancel them." },
  { name: "Watch", description: "Place in line, estimate, progress, result." },
  { name: "Queues", description: "Lines of waiting tasks; each queue has one handler." },
  {
    name: "Dead letters",
    description: "Failed tasks that can be retried: they used up their attempts, or lost their worker too often.",
  },
  { name: "Workers", description: "Workers in any language." },
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

/** What OpenAPI says of an extension. */
export interface DescribedExtension {
  /** The tags of its routes. */
  readonly tags?: OpenApiDocument["tags"];
  /** What its routes answer with, by the names to which these refer. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
}

/** What a document describes. */
export interface Described {
  readonly routes: readonly Route[];
  /** Those whose inputs it has. */
  readonly handlers: readonly Handler[];
  readonly extensions: readonly DescribedExtension[];
  readonly version: string;
  readonly description?: string;
}

/** A route with one of its methods. */
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: RequestBody;
  readonly responses: Answers;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
}

export type Method = "get" | "head" | "post" | "put" | "patch" | "delete";

/** The operations of paths, by path and method. */
type Paths = Readonly<Record<string, Readonly<Partial<Record<Method, Operation>>>>>;

/** The parts of an OpenAPI 3.1 document that are used here. */
export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: Schema;
  readonly servers: readonly Schema[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Paths;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly securitySchemes: Readonly<Record<string, Schema>>;
  };
}

/** Describes all routes, with the inputs that the handlers of this server accept. */
export async function openApiDocument(of: Described): Promise<OpenApiDocument> {
  const { routes, handlers, extensions, version, description } = of;
  const described = routes.filter(isDescribed);
  const submitTo = described.find(({ name }) => name === "submitTo");
  const portions = new Portions();
  const paths = pathsOf(described, handlers);
  const inputs: Record<string, Schema> = {};
  for (const handler of handlers) {
    Object.assign(inputs, inputSchemas(handler));
    if (submitTo) Object.assign(paths, pathsOf([toQueueOf(handler, submitTo)], handlers));
    await portions.pause();
  }
  const others = Object.assign({}, ...extensions.map((extension) => extension.schemas));
  const all = {
    schemas: { ...schemas(others), ...inputs },
    responses: withCommonHeaders(responses),
    parameters,
    headers,
  };
  await portions.pause();
  const components = named(paths, all);
  await portions.pause();
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
    tags: [...TAGS, ...extensions.flatMap(({ tags = [] }) => tags)].filter(({ name }) =>
      described.some(({ tag }) => tag === name),
    ),
    paths,
    components: { ...components, securitySchemes: SECURITY_SCHEMES },
  };
}

type Components = Omit<OpenApiDocument["components"], "securitySchemes">;

/** The components that the paths name, themselves or through others. @throws Error if one does not exist */
function named(paths: Paths, all: Components): Components {
  const kept: Record<keyof Components, Record<string, unknown>> = {
    ...{ schemas: {}, responses: {}, parameters: {}, headers: {} },
  };
  const texts = [JSON.stringify(paths)];
  for (const text of texts) {
    for (const [, kind = "", name = ""] of text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"/]+)"/g)) {
      const of = kind as keyof Components;
      if (Object.hasOwn(kept[of], name)) continue;
      const component = all[of][name];
      if (component === undefined) throw new Error(`there is no component ${kind}/${name}`);
      kept[of][name] = component;
      texts.push(JSON.stringify(component));
    }
  }
  const inOrder = (of: keyof Components) =>
    Object.fromEntries(Object.entries(all[of]).filter(([name]) => Object.hasOwn(kept[of], name)));
  return {
    ...{ schemas: inOrder("schemas"), responses: inOrder("responses") },
    ...{ parameters: inOrder("parameters"), headers: inOrder("headers") },
  } as Components;
}

const isDescribed = (route: Route): route is DescribedRoute => route.summary !== undefined;

/** The route for submissions to any queue, as one to the queue of a handler. */
function toQueueOf(handler: Handler, submitTo: DescribedRoute): DescribedRoute {
  const { queue } = handler;
  const path = submitTo.path.replace(":queue", queue);
  const summary = `Submit to the queue ${queue}`;
  const description = [handler.description, submitTo.description].filter(Boolean).join("\n\n");
  return { ...submitTo, name: `submit-${queue}`, path, summary, description, body: inputBody(handler) };
}

/** The operations of routes, by path and method. */
function pathsOf(routes: readonly DescribedRoute[], handlers: readonly Handler[]): Paths {
  const paths: Record<string, Partial<Record<Method, Operation>>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)|\{\*(\w+)\}/g, "{$1$2}");
    const methods = [route.method].flat().filter((method) => method !== "OPTIONS");
    for (const method of methods.map((upper) => upper.toLowerCase() as Method)) {
      const { name } = route;
      const operationId = methods.length === 1 ? name : `${method}${name[0]?.toUpperCase()}${name.slice(1)}`;
      paths[path] = { ...paths[path], [method]: operationOf(route, { path, method, operationId, handlers }) };
    }
  }
  return paths;
}

function operationOf(
  route: DescribedRoute,
  {
    path,
    method,
    operationId,
    handlers,
  }: Record<"path" | "operationId", string> & { method: Method; handlers: readonly Handler[] },
): Operation {
  const { tag, summary, description, body, answers } = route;
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as keyof typeof parameters);
  // The body of a GET has no meaning (RFC 9110 §9.3.1).
  const isBodiless = method === "get" || method === "head";
  const requestBody = isBodiless ? undefined : typeof body === "function" ? body(handlers) : body;
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    parameters: [...parameterRefs(...names), ...(route.parameters ?? [])],
    ...(requestBody && { requestBody }),
    responses: withCommonHeaders({ default: responseRef("Problem"), ...answers }),
    security: securityOf(route),
  };
}

/** Responses with the headers of every response. */
function withCommonHeaders<Named extends Answers>(named: Named): Named {
  const common = headerRefs("X-Request-Id", "RateLimit", "RateLimit-Policy");
  const withHeaders = (response: Answers[string]) =>
    "$ref" in response ? response : { ...response, headers: { ...common, ...response.headers } };
  return Object.fromEntries(
    Object.entries(named).map(([status, response]) => [status, withHeaders(response)]),
  ) as Named;
}

/** Who may call it; `{}` stands for a server without keys. */
function securityOf({ scopes, signedLink }: Route): NonNullable<Operation["security"]> {
  if (scopes === "none") return [];
  return [{ key: scopes === "any" ? [] : scopes }, ...(signedLink ? [{ link: [] }] : []), {}];
}
