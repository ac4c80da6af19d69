/** The part of a page that is searched for `<meta charset>` (HTML §13.2.3.2). */
const PRESCAN_BYTES = 1024;
/** The characters of windows-1252 for 0x80–0x9F; five are control characters. */
const WINDOWS_1252 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9dž\x9f";

/**
 * Decodes the bytes of a page as a browser does: by the byte order mark, else the charset of the content type, else the charset
 * that the page declares, else as UTF-8 if that is valid, else as windows-1252.
 * @param charset of the content type; an unknown one is ignored
 */
export function decodeHtml(bytes: Uint8Array, charset?: string): string {
  const named = byteOrderMark(bytes) ?? encodingOf(charset) ?? declared(bytes);
  if (named !== undefined) return decode(bytes, named);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return decode(bytes, "windows-1252");
  }
}

function decode(bytes: Uint8Array, encoding: string): string {
  if (encoding !== "windows-1252") return new TextDecoder(encoding).decode(bytes);
  // The TextDecoder of Node 20 decodes windows-1252 as ISO 8859-1, without quotes, dashes and the euro sign.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString("latin1")
    .replace(/[\x80-\x9f]/g, (c) => WINDOWS_1252.charAt(c.charCodeAt(0) - 0x80));
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  const [a, b, c] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return "utf-8";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  if (a === 0xff && b === 0xfe) return "utf-16le";
  return undefined;
}

/** The charset of `<meta charset>`, `<meta http-equiv content="…charset=…">` or an XML declaration. */
function declared(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, PRESCAN_BYTES))
    .toString("latin1")
    .replace(/<!--[\s\S]*?(?:-->|$)/g, "");
  const label =
    /<meta\s[^<>]*?charset\s*=\s*(?:["']\s*)?([^\s"'/>;]+)/i.exec(head)?.[1] ??
    /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"']+)/i.exec(head)?.[1];
  const encoding = encodingOf(label);
  // A page whose meta element is readable as ASCII is not UTF-16, whatever it declares.
  return encoding?.startsWith("utf-16") ? "utf-8" : encoding;
}

function encodingOf(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}
