import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";

/** A Standard Schema that checks by a JSON Schema (2020-12), and shows it. */
type Checked = StandardSchemaV1 & StandardJSONSchemaV1;

/**
 * A schema that checks by a JSON Schema. `format` and unknown keywords are annotations, as the standard says; remote references
 * are not fetched.
 * @throws Error for what is no JSON Schema 2020-12
 */
export function jsonSchemaOf(schema: Record<string, unknown>): Checked {
  const check = new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).compile(schema);
  if ("$async" in check) throw new Error("$async is not a keyword of JSON Schema");
  const shown = () => schema;
  return {
    "~standard": {
      version: 1,
      vendor: "json-schema",
      validate: (value) => (check(value) ? { value } : { issues: (check.errors ?? []).map(issueOf) }),
      jsonSchema: { input: shown, output: shown },
    },
  };
}

/** An error as an issue at the member that it is about, which may be one that is missing or too many. */
function issueOf({ instancePath, params, message, keyword }: ErrorObject): StandardSchemaV1.Issue {
  const path = instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const member = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty;
  const values = params.allowedValues ?? (keyword === "const" ? [params.allowedValue] : undefined);
  const allowed = values === undefined ? "" : `: ${values.map((one: unknown) => JSON.stringify(one)).join(", ")}`;
  return { message: `${message ?? keyword}${allowed}`, path: member === undefined ? path : [...path, String(member)] };
}
