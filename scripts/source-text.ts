/** A TypeScript file with parts blanked out; every character keeps its place, so offsets mean the same in all three. */
export interface SourceText {
  readonly raw: string;
  /** Without comments. */
  readonly code: string;
  /** Without comments and without what stands in strings, templates and regular expressions. */
  readonly bare: string;
}

/** After these a `/` begins a regular expression, not a division. */
const BEFORE_REGEX =
  /(?:^|[=(,:;[{}!&|?+\-*%^~<>]|\b(?:return|typeof|case|in|of|do|else|void|delete|throw|await|yield))$/;

/** Finds the comments and literals of TypeScript, well enough to look for words and imports in what remains. */
export function readSource(raw: string): SourceText {
  const code = raw.split("");
  const bare = raw.split("");
  const blank = (chars: string[], from: number, to: number): void => {
    for (let i = from; i < to; i += 1) if (chars[i] !== "\n") chars[i] = " ";
  };
  /** Of each template that is open: how many braces are open within its `${`. */
  const templates: number[] = [];
  let significant = "";
  let at = 0;

  /** Blanks a literal but its two delimiters. */
  const literal = (to: number): void => {
    blank(bare, at + 1, to - 1);
    significant = '"';
    at = to;
  };
  /** From the start of a template, or from the `}` that ends a substitution, up to the next `${` or the end. */
  const template = (): void => {
    let end = at + 1;
    while (end < raw.length && raw[end] !== "`" && !raw.startsWith("${", end)) end += raw[end] === "\\" ? 2 : 1;
    blank(bare, at + 1, end);
    if (raw[end] === "`") {
      templates.pop();
      significant = '"';
      at = end + 1;
    } else {
      templates[templates.length - 1] = 0;
      significant = "{";
      at = end + 2;
    }
  };

  while (at < raw.length) {
    const char = raw[at] ?? "";
    const depth = templates.at(-1);
    if (raw.startsWith("//", at) || raw.startsWith("/*", at)) {
      const close = raw[at + 1] === "/" ? raw.indexOf("\n", at) : raw.indexOf("*/", at + 2) + 2;
      const end = close < at + 2 ? raw.length : close;
      blank(code, at, end);
      blank(bare, at, end);
      at = end;
    } else if (char === '"' || char === "'") {
      literal(endOfLiteral(raw, at, char));
    } else if (char === "/" && BEFORE_REGEX.test(significant)) {
      literal(endOfLiteral(raw, at, "/"));
    } else if (char === "`") {
      templates.push(0);
      template();
    } else if (char === "}" && depth === 0) {
      template();
    } else {
      if (depth !== undefined && char === "{") templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && char === "}") templates[templates.length - 1] = depth - 1;
      // Words are kept whole, so that `return` can be told from `myReturn`.
      const inWord = /\w/.test(char) && /\w/.test(raw[at - 1] ?? "");
      if (!/\s/.test(char)) significant = inWord ? significant + char : char;
      at += 1;
    }
  }
  return { raw, code: code.join(""), bare: bare.join("") };
}

/** Offset after the delimiter that ends the literal beginning at `start`, or the line's end where it is never closed. */
function endOfLiteral(raw: string, start: number, delimiter: string): number {
  let inClass = false;
  for (let i = start + 1; i < raw.length; i += 1) {
    const char = raw[i];
    if (char === "\n") return i;
    if (char === "\\") i += 1;
    else if (delimiter === "/" && char === "[") inClass = true;
    else if (delimiter === "/" && char === "]") inClass = false;
    else if (char === delimiter && !inClass) return i + 1;
  }
  return raw.length;
}

/** The line, from 1, on which an offset lies. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
