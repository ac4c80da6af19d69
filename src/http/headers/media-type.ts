import { nameValue, splitField, trimField } from "../../wire/header-fields.ts";

/** A media type in lower case, without its parameters, and its charset. */
export interface MediaType {
  readonly type: string;
  readonly charset: string | undefined;
}

/** Reads a Content-Type (RFC 9110 §8.3.1); malformed parameters are ignored. */
export function readMediaType(header: string): MediaType {
  const [type = "", ...parameters] = splitField(header, ";");
  const charset = parameters.map(nameValue).find((parameter) => parameter?.name === "charset")?.value;
  return { type: trimField(type).toLowerCase(), charset };
}
