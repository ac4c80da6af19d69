/** What stands in the place of a secret. */
const MASK = "***";
/** What stands in the place of what is cut. */
const CUT = "…";
/** A shorter one would be found in ordinary words. */
const MIN_SECRET = 6;

/** The longest value of a line, in characters of JSON; and that of a member which is the text of an error. */
const LONGEST = 256;
const LONGEST_TEXT = 2048;
const TEXTS: ReadonlySet<string> = new Set(["msg", "message", "reason"]);
/** A longer stack keeps as much of its text, and of its frames what stands in so many characters. */
const LONGEST_STACK = 6144;
const FRAMES = 8192;
/** So far behind a cut the end of a secret is looked for. */
const REACH = 1024;

const HEADERS = "(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-auth-token|webhook-signature";
const MEMBERS = `${HEADERS}|password|(?:client[-_]?)?secret|api[-_]?key|(?:(?:access|refresh|id|session)[-_]?)?token`;
/** A quotation mark in a string, however deep the JSON in it is; one behind an even number of backslashes ends the string. */
const ESCAPED = '(?:\\\\\\\\)*\\\\"';
const QUOTED = '(?:[^"\\\\]|\\\\\\\\(?:\\\\["\\\\]|[^"\\\\]))*';
const STRING = '"(?:[^"\\\\]|\\\\[^])*(?:"|\\\\?$)';

/** Secrets by their form, each with what remains of it. In JSON a letter behind a backslash is not part of a word. */
const FORMS: readonly (readonly [form: RegExp, kept: string])[] = [
  // The password of a URL; what is in front of it names the account.
  [/(:\/\/[^\s/?#@:"\\]*:)[^\s/?#"\\]+@/g, `$1${MASK}@`],
  [/([?&](?:signature|sig|token|access_token|auth|api[-_]?key|key|password|secret)=)[^&#\s"\\]+/gi, `$1${MASK}`],
  [/(?<![^\\]\w)(bearer|basic)( +)[A-Za-z0-9._~+/-]{6,}=*/gi, `$1$2${MASK}`],
  [/(?<![^\\]\w)whsec_[A-Za-z0-9+/]+=*/g, `whsec_${MASK}`],
  // API keys, as auth/api-key.ts makes them.
  [/(?<![^\\]\w)ph_[A-Za-z0-9_-]{16,}/g, `ph_${MASK}`],
  // Members; what is not closed goes to the end, so that it is not tried again from each member in it.
  [new RegExp(`("(?:${MEMBERS})":)(?:${STRING}|\\[(?:${STRING}|[^"\\]])*(?:\\]|$))`, "gi"), `$1"${MASK}"`],
  // Members of JSON in a string, which may quote quotation marks; of JSON that is deeper in it, all that follows goes too.
  [new RegExp(`(\\\\"(?:${MEMBERS})${ESCAPED}: *${ESCAPED})${QUOTED}`, "gi"), `$1${MASK}`],
  // Lists of headers, and headers as they are sent.
  [new RegExp(`("(?:${HEADERS})",)${STRING}`, "gi"), `$1"${MASK}"`],
  [/(?<![^\\]\w)((?:set-)?cookie|x-api-key|x-auth-token)(: *)[^"\\]+/gi, `$1$2${MASK}`],
];

/** What every one of these forms has; nearly all lines have none of it, and are looked at only once. */
const HINT =
  /:\/\/|[?&][\w-]+=|bearer|basic|whsec_|ph_|(?:authorization|cookie|password|secret|api[-_]?key|token|signature)(?:\\*"|:)/i;

/** Makes a line of JSON fit to be shown: see {@link redaction}. */
export type Redaction = (line: string) => string;

/**
 * Makes a function for lines of JSON that cuts long values, replaces secrets – those given, and whatever has the form of one – and
 * escapes control characters. It takes time in proportion to the length, whatever a line says.
 */
export function redaction(secrets: readonly string[] = []): Redaction {
  const literal = secrets.filter((secret) => secret.length >= MIN_SECRET);
  // As they are in JSON; a long one first, of which another may be a part.
  const known = [...new Set(literal.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))].sort(
    (a, b) => b.length - a.length,
  );
  const reach = Math.max(REACH, known[0]?.length ?? 0);
  const masked = (text: string): string => {
    let clean = text;
    for (const secret of known) if (clean.includes(secret)) clean = clean.replaceAll(secret, MASK);
    if (!HINT.test(clean)) return clean;
    for (const [form, kept] of FORMS) clean = clean.replace(form, kept);
    return clean;
  };
  /** The beginning of a text. A secret that the cut goes through is masked first: a part of it would not be recognised. */
  const cut = (text: string, longest: number): string => {
    const isShort = text.length <= longest + reach;
    // The sign is what the password of a URL ends with.
    const clean = masked(isShort ? text : `${whole(text.slice(0, longest + reach))}@`);
    return isShort && clean.length <= longest ? clean : whole(clean.slice(0, longest)) + CUT;
  };
  return (line) => escapedControls(masked(line.length > LONGEST ? shortened(line, cut) : line));
}

/** The same for one text, which is cut as a member of a line with this name. */
export function redactedText(redacted: Redaction, member: "message" | "stack", text: string): string {
  const line = redacted(JSON.stringify({ [member]: text }));
  try {
    return (JSON.parse(line) as Readonly<Record<string, string>>)[member] ?? MASK;
  } catch {
    // A line that is no JSON afterwards must not cost a task its outcome.
    return MASK;
  }
}

/** A URL that cannot be used, for an error; not if it may have a password in it. */
export function quotedUrl(url: string): string {
  return url.includes("@") ? "the value given" : JSON.stringify(url);
}

/** A line of JSON whose strings are cut. */
function shortened(line: string, cut: (text: string, longest: number) => string): string {
  let short = "";
  let done = 0;
  let key = "";
  for (let open = line.indexOf('"'); open >= 0; ) {
    const end = endOf(line, open + 1);
    if (end - open > LONGEST) {
      const text = line.slice(open + 1, end);
      short += line.slice(done, open + 1) + (key === "stack" ? cutStack(text, cut) : cut(text, longestOf(key)));
      done = end;
    }
    key = line[end + 1] === ":" ? line.slice(open + 1, end) : "";
    open = line.indexOf('"', end + 1);
  }
  // The bytes of a Buffer are numbers.
  return (short + line.slice(done)).replace(/("type":"Buffer","data":\[)[\d,]{256,}\]/g, "$1]");
}

const longestOf = (key: string): number => (TEXTS.has(key) ? LONGEST_TEXT : LONGEST);

/** A stack whose text is long keeps its frames. */
function cutStack(stack: string, cut: (text: string, longest: number) => string): string {
  if (stack.length <= LONGEST_STACK) return stack;
  const frames = stack.slice(0, FRAMES).indexOf("\\n    at ", LONGEST_TEXT);
  return cut(stack, LONGEST_TEXT) + (frames < 0 ? "" : cut(stack.slice(frames), FRAMES - frames));
}

/** Where the string ends that begins there. */
function endOf(line: string, start: number): number {
  for (let end = line.indexOf('"', start); end >= 0; end = line.indexOf('"', end + 1)) {
    if (backslashesBefore(line, end) % 2 === 0) return end;
  }
  return line.length;
}

function backslashesBefore(text: string, end: number): number {
  let start = end;
  while (text[start - 1] === "\\") start -= 1;
  return end - start;
}

/** Without half an escape sequence, or half a character, at its end. */
function whole(text: string): string {
  const last = text.lastIndexOf("\\");
  const isBroken = last >= 0 && last + (text[last + 1] === "u" ? 6 : 2) > text.length;
  const end = isBroken && backslashesBefore(text, last + 1) % 2 === 1 ? last : text.length;
  return text.slice(0, end).replace(/[\ud800-\udbff]$/, "");
}

/**
 * Characters that a terminal obeys, or that change the order in which a line is read: C0 except tab and line break, DEL, C1, line
 * separators, and those of bidirectional text.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Text with U+FFFD in place of each of them. */
export function withoutControls(text: string): string {
  return text.replace(CONTROLS, "\ufffd");
}

/** JSON with each of them as an escape sequence: the same values. */
export function escapedControls(json: string): string {
  return json.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
