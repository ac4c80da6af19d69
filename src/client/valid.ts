/** The text, if it has the form. @throws TypeError that names the invalid value, without what may be a password; nothing is sent then */
export function valid(what: string, text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new TypeError(`${what} ${JSON.stringify(text.replace(/^.*@/s, ""))} does not match ${form}`);
}

/** An id or the name of a queue: with `..` the path would lead elsewhere. @throws TypeError */
export function named(what: "id" | "queue", text: string): string {
  return valid(what, text, /^[^\W_][\w.~-]{0,127}$/);
}
