const JSON_TYPE = /^(?:application\/json|[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+\+json)[ \t]*(?:;|$)/i;

/** Whether a content type says JSON: `application/json`, or any with the suffix `+json` (RFC 6839 §3.1). */
export function isJsonType(type: string | null): boolean {
  return type !== null && JSON_TYPE.test(type);
}
