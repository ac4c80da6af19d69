import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import type { OpenApiDocument, Operation, Response } from "../../../src/http/openapi/types.ts";
import type { Answer } from "./server.ts";

/** Our headers that a response may only have if its operation describes them. */
const DECLARED =
  /^(x-.*|location|operation-location|link|retry-after|preference-applied|idempotent-replayed|etag|www-authenticate|allow|accept|expires)$/;
/** Headers that say how to treat the bytes, whatever they are. */
const UNDECLARED = new Set(["x-content-type-options", "x-accel-buffering", "x-made-by"]);

/** Compares the responses of a server with its OpenAPI description. */
export class Contract {
  readonly #document: OpenApiDocument;
  readonly #ajv: InstanceType<typeof Ajv2020.Ajv2020>;
  readonly #compiled = new Map<string, ValidateFunction>();
  /** The operations whose responses agreed, each with its statuses: "GET /v1/queues" → 200. */
  readonly seen = new Map<string, Set<number>>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#ajv = new Ajv2020.Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    this.#ajv.addSchema({ $id: "http://paihao/openapi.json", components: closed(document.components) });
  }

  /** Whether an operation is described. */
  describes(method: string, path: string): boolean {
    return this.#operation(method, path) !== undefined;
  }

  /** The differences between a response and its description. */
  violations(method: string, path: string, answer: Answer): string[] {
    const found = this.#operation(method, path);
    if (!found) return [`${method} ${path} is not described`];
    const { status } = answer;
    const { responses } = found.operation;
    const problem = status >= 400 ? responses.default : undefined;
    const given = responses[String(status)] ?? responses[`${String(status)[0]}XX`] ?? problem;
    const response =
      given && "$ref" in given ? this.#document.components.responses[given.$ref.split("/").at(-1) ?? ""] : given;
    if (!response) return [`status ${status} is not described: ${answer.text.slice(0, 200)}`];
    const seen = this.seen.get(found.name) ?? new Set();
    this.seen.set(found.name, seen.add(status));
    const problems = [...this.#headers(response, answer), ...this.#body(response, method, answer)];
    return problems.map((problem) => `${found.name} ${status}: ${problem}`);
  }

  /** The differences between a document and a schema, by name: for responses that may also be something else. */
  faults(name: string, document: unknown): string[] {
    return this.#check({ $ref: `#/components/schemas/${name}` }, document, name);
  }

  #operation(method: string, path: string): { name: string; operation: Operation } | undefined {
    const { pathname } = new URL(path, "http://host");
    const templates = Object.keys(this.#document.paths).filter((template) => {
      const form = template
        .replace(/[.]/g, "\\.")
        .replace(/\{path\}/g, ".+")
        .replace(/\{\w+\}/g, "[^/]+");
      return new RegExp(`^${form}$`).test(pathname);
    });
    // A literal path takes precedence over a template (OpenAPI 3.1 §4.8.8.2).
    const variables = (template: string) => template.split("{").length;
    const [template] = templates
      .filter((candidate) => method.toLowerCase() in (this.#document.paths[candidate] ?? {}))
      .sort((a, b) => variables(a) - variables(b));
    const operation = template && this.#document.paths[template]?.[method.toLowerCase() as "get"];
    return operation ? { name: `${method} ${template}`, operation } : undefined;
  }

  #headers(response: Response, { headers }: Answer): string[] {
    const described = new Map(
      Object.entries(response.headers ?? {}).map(([name, header]) => [
        name.toLowerCase(),
        "$ref" in header ? this.#document.components.headers[header.$ref.split("/").at(-1) ?? ""] : header,
      ]),
    );
    const undescribed = Object.keys(headers).filter(
      (name) => DECLARED.test(name) && !UNDECLARED.has(name) && !described.has(name),
    );
    const wrong = [...described].flatMap(([name, header]) => {
      const value = headers[name];
      if (value === undefined) return header?.required ? [`header ${name} is missing`] : [];
      return this.#check(header?.schema ?? {}, value, `header ${name}`);
    });
    return [...undescribed.map((name) => `header ${name} is not described`), ...wrong];
  }

  #body(response: Response, method: string, answer: Answer): string[] {
    const { headers, body, text } = answer;
    if (body.length === 0 || method === "HEAD") return [];
    const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
    const content = response.content ?? {};
    const media = content[type] ?? content[`${type.split("/")[0]}/*`] ?? content["*/*"];
    if (!media) return [`a body of ${type} is not described`];
    const { schema } = media;
    if (!schema || !/json/.test(type)) return [];
    const values = type === "application/x-ndjson" ? text.trim().split("\n") : [text];
    return values.flatMap((value) => this.#check(schema, JSON.parse(value), "body"));
  }

  #check(schema: object, value: unknown, what: string): string[] {
    const key = JSON.stringify(schema);
    let validate = this.#compiled.get(key);
    if (!validate) {
      validate = this.#ajv.compile(
        JSON.parse(key.replaceAll('"#/components', '"http://paihao/openapi.json#/components')),
      );
      this.#compiled.set(key, validate);
    }
    if (validate(value)) return [];
    return [`${what} ${JSON.stringify(value).slice(0, 300)}: ${this.#ajv.errorsText(validate.errors)}`];
  }
}

/** Schemas that others compose: if closed, they would refuse the members of those. */
const OPEN = new Set(["Problem", "Pending", "Envelope"]);

/** The components with closed objects: in a test, a member that is not described is a mistake. */
function closed(components: OpenApiDocument["components"]): unknown {
  const schemas = Object.entries(components.schemas).map(([name, schema]) => {
    const isOurs = /^[A-Z]/.test(name) && !OPEN.has(name);
    return [name, isOurs ? JSON.parse(JSON.stringify(schema), closedObject) : schema];
  });
  return { ...components, schemas: Object.fromEntries(schemas) };
}

/** Closes an object schema that does not mention additional members. */
function closedObject(_name: string, value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && "type" in value && value.type === "object";
  return isObject ? { additionalProperties: false, ...value } : value;
}
