/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>;

/** A reference to a component. A type alias, since an interface would not be assignable to {@link Schema}. */
export type Reference = { readonly $ref: string };

export interface Header {
  readonly description: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Header | Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

/** The responses of an operation, by status; `default` stands for all others. */
export type Answers = Readonly<Record<string, Response | Reference>>;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: unknown;
  readonly style?: string;
  readonly explode?: boolean;
}

export interface RequestBody {
  readonly description?: string;
  readonly required?: boolean;
  readonly content: Readonly<Record<string, MediaType>>;
}

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
export type Paths = Readonly<Record<string, Readonly<Partial<Record<Method, Operation>>>>>;

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
