/** The text, if it has the form. @throws TypeError that names what has not, so that nothing is sent */
export function valid(what: string, text: string, form: RegExp): string {
  if (form.test(text)) return text;
  throw new TypeError(`${what} ${JSON.stringify(text)} does not match ${form}`);
}

/** An id or the name of a queue: the path of `..` would be that of something else. @throws TypeError */
export function named(what: "id" | "queue", text: string): string {
  return valid(what, text, /^[^\W_][\w.~-]{0,127}$/);
}
