import { gunzipSync } from "node:zlib";
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import {
  type Method,
  type OpenApiDocument,
  type Operation,
  openApiDocument,
} from "../../../src/http/openapi/document.ts";
import type { Response } from "../../../src/http/route.ts";
import type { Answer } from "./answer.ts";
import { allExtensions, allRoutes } from "./matched.ts";
import { isOfHandler, ruleViolations } from "./rules.ts";

/** Our headers that a response may only have if its operation describes them. */
const DECLARED =
  /^(x-.*|location|operation-location|link|retry-after|preference-applied|idempotent-replayed|etag|www-authenticate|allow|accept|expires)$/;
/** Headers that say how to treat the bytes, whatever they are. */
const UNDECLARED = new Set(["x-content-type-options", "x-accel-buffering"]);

/** One for the process: schemas are compiled when an answer first has them. */
let ours: Promise<Contract> | undefined;

/**
 * Holds an answer against all that the contract says of it, whatever was asked.
 * @throws Error that names the request and each broken rule
 */
export async function assertContract(method: string, target: string, answer: Answer): Promise<void> {
  ours ??= describeAll();
  const broken = (await ours).complaints(method, target, answer);
  if (broken.length === 0) return;
  const said = `${answer.status} ${answer.text.slice(0, 300)}`;
  throw new Error(`${method} ${target} breaks the contract: ${broken.join("; ")}\n  answer: ${said}`);
}

async function describeAll(): Promise<Contract> {
  const described = { routes: allRoutes(), handlers: [], extensions: allExtensions(), version: "0.0.0" };
  return new Contract(await openApiDocument(described));
}

/** Compares the responses of a server with its OpenAPI description, and with the rules of all answers. */
class Contract {
  readonly #document: OpenApiDocument;
  readonly #ajv: InstanceType<typeof Ajv2020.Ajv2020>;
  readonly #compiled = new Map<string, ValidateFunction>();
  /** The paths of the description: a literal one takes precedence over a template (OpenAPI 3.1 §4.8.8.2). */
  readonly #templates: readonly { template: string; form: RegExp }[];

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#ajv = new Ajv2020.Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    this.#ajv.addSchema({ $id: "http://paihao/openapi.json", components: closed(document.components) });
    const variables = (template: string) => template.split("{").length;
    this.#templates = Object.keys(document.paths)
      .sort((a, b) => variables(a) - variables(b))
      .map((template) => {
        const form = template
          .replace(/[.]/g, "\\.")
          .replace(/\{path\}/g, ".+")
          .replace(/\{\w+\}/g, "[^/]+");
        return { template, form: new RegExp(`^${form}$`) };
      });
  }

  /** What is wrong with an answer. */
  complaints(method: string, target: string, answer: Answer): string[] {
    const [path = ""] = target.split("?");
    const rules = ruleViolations(method, path, answer);
    return [...rules, ...(isRouted(path, answer) ? this.#violations(method, path, answer) : [])];
  }

  /** The differences between a response and its description. */
  #violations(method: string, path: string, answer: Answer): string[] {
    const found = this.#operation(method, path);
    if (!found) return [];
    const { status } = answer;
    const { responses } = found.operation;
    const others = responses.default;
    const isAny = others !== undefined && "$ref" in others && others.$ref.endsWith("/ProblemOrResult");
    const given = responses[String(status)] ?? (status >= 400 || isAny ? others : undefined);
    const response =
      given && "$ref" in given ? this.#document.components.responses[given.$ref.split("/").at(-1) ?? ""] : given;
    if (!response) return [`status ${status} is not described: ${answer.text.slice(0, 200)}`];
    const problems = [
      ...this.#headers(response, answer),
      ...this.#body(response, method, answer),
      ...this.#task(path, method, answer),
    ];
    return problems.map((problem) => `${found.name} ${status}: ${problem}`);
  }

  /** A monitor may also answer with a result, and a stream with anything, so that their descriptions allow all. */
  #task(path: string, method: string, answer: Answer): string[] {
    const { status, headers, text } = answer;
    if (status !== 200 || method === "HEAD" || isOfHandler(answer)) return [];
    const schema = { $ref: "#/components/schemas/Task" };
    const type = String(headers["content-type"]);
    const isMonitor = /^\/v1\/(requests\/[^/]+\/status|queue\/requests\/[^/]+)$/.test(path);
    if (isMonitor && type.startsWith("application/json")) return this.#check(schema, JSON.parse(text), "body");
    if (!/^\/v1\/requests\/[^/]+\/events$/.test(path)) return [];
    return [...text.matchAll(/^event: (status|done)\n(?:.+\n)*?data: (.*)$/gm)].flatMap(([, name, data = ""]) => {
      // The last event also has what collecting would answer.
      const { result: _, problem: __, ...document } = JSON.parse(data);
      return this.#check(schema, document, `event ${name}`);
    });
  }

  #operation(method: string, path: string): { name: string; operation: Operation } | undefined {
    const matching = this.#templates.filter(({ form }) => form.test(path));
    // HEAD is answered as GET, without a body.
    for (const name of method === "HEAD" ? ["head", "get"] : [method.toLowerCase()]) {
      for (const { template } of matching) {
        const operation = this.#document.paths[template]?.[name as Method];
        if (operation) return { name: `${method} ${template}`, operation };
      }
    }
    return undefined;
  }

  #headers(response: Response, answer: Answer): string[] {
    const { headers } = answer;
    // A handler, or an API behind a gateway, may set what it likes.
    if (isOfHandler(answer)) return [];
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
    const { headers, body } = answer;
    const text = headers["content-encoding"] === "gzip" ? gunzipSync(body).toString() : answer.text;
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

/** Whether a request comes to an operation of the description, as its path is written and not only as it is understood. */
function isRouted(path: string, answer: Answer): boolean {
  if (/[^A-Za-z0-9._~/-]|\/\.{1,2}(\/|$)|\/\/|.\/$/.test(path)) return false;
  return !/\/problems\/(not-found|method-not-allowed)"/.test(answer.text.slice(0, 200));
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
