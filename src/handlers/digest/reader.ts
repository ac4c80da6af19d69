import { Parser } from "htmlparser2";
import { countWords } from "./words.ts";

/** Limits of what is kept of a page; the rest is still read. */
export const PAGE_LIMITS = {
  /** Nested elements. The parser's time grows with the square of the depth; browsers stop at 512. */
  depth: 1000,
  anchors: 5000,
  headings: 100,
  /** Characters of a link's or heading's text. */
  text: 300,
} as const;

/** Characters counted at once if there is no block element between them. */
const LONG_TEXT = 8 * 1024;

/** The elements of a page are nested too deeply; browsers would not display it either. */
export class NestedTooDeep extends Error {
  override readonly name = "NestedTooDeep";
}

/** A text collected from several elements. */
interface Text {
  text: string;
}

export interface Heading extends Text {
  readonly level: number;
}

/** Elements whose content does not count as text. */
const UNREAD = new Set(["script", "style", "template", "noscript", "svg", "math", "iframe", "object", "textarea"]);
/** Elements that may begin and end within a word; all others end it. */
const INLINE = new Set(
  "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span strike strong sub sup time tt u var wbr".split(
    " ",
  ),
);
const HEADING = /^h([1-6])$/;

/** Reads a page piece by piece and collects the raw data of a digest. */
export class PageReader {
  words = 0;
  /** Text of the first `<title>`. */
  title: Text | undefined;
  /** `href` of the first `<base>` that has one. */
  base: string | undefined;
  canonical: string | undefined;
  language: string | undefined;
  /** `name`, `property` or `http-equiv` of each `<meta>`, in lower case → its first content that is not blank. */
  readonly meta = new Map<string, string>();
  readonly headings: Heading[] = [];
  /** `href` as written → its text; for several links with the same `href`, the first text that is not blank. */
  readonly anchors = new Map<string, Text>();

  readonly #parser: Parser;
  #depth = 0;
  /** How many open elements are unread, or inside an unread one. */
  #unread = 0;
  /** The current title element. */
  #title: Text | undefined;
  #heading: Heading | undefined;
  #anchor: { href: string; text: string } | undefined;
  /** Text since the last certain end of a word. */
  #pending = "";

  constructor() {
    this.#parser = new Parser({
      onopentag: (name, attributes) => this.#open(name, attributes),
      ontext: (text) => this.#text(text),
      onclosetag: (name) => this.#close(name),
    });
  }

  /** @throws NestedTooDeep */
  write(html: string): void {
    this.#parser.write(html);
  }

  /** @throws NestedTooDeep */
  end(): void {
    this.#parser.end();
    this.#endWord();
  }

  #open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (++this.#depth > PAGE_LIMITS.depth) {
      throw new NestedTooDeep(`the page has more than ${PAGE_LIMITS.depth} nested elements`);
    }
    if (this.#unread > 0 || UNREAD.has(name)) {
      this.#unread++;
      return;
    }
    if (!INLINE.has(name)) this.#endWord();
    const heading = HEADING.exec(name);
    if (heading) this.#heading = { level: Number(heading[1]), text: "" };
    switch (name) {
      case "html":
        this.language ??= attributes.lang ?? attributes["xml:lang"];
        break;
      case "title":
        // A second title is ignored, and no title counts as text of the page.
        this.#title = { text: "" };
        this.title ??= this.#title;
        break;
      case "base":
        this.base ??= attributes.href;
        break;
      case "link":
        if (attributes.rel?.toLowerCase().split(/\s+/).includes("canonical")) this.canonical ??= attributes.href;
        break;
      case "meta":
        this.#keepMeta(attributes);
        break;
      case "a":
        if (attributes.href !== undefined) this.#anchor = { href: attributes.href, text: "" };
        break;
      case "area":
        if (attributes.href !== undefined) this.#keepAnchor(attributes.href, attributes.alt ?? "");
        break;
      case "img":
        if (this.#anchor) addText(this.#anchor, ` ${attributes.alt ?? ""} `);
        break;
    }
  }

  #text(text: string): void {
    if (this.#unread > 0) return;
    if (this.#title) {
      addText(this.#title, text);
      return;
    }
    this.#pending += text;
    // Counting cannot be interrupted, so a very long text is counted in parts, which may cut a word.
    if (this.#pending.length > LONG_TEXT) this.#endWord();
    if (this.#heading) addText(this.#heading, text);
    if (this.#anchor) addText(this.#anchor, text);
  }

  #close(name: string): void {
    this.#depth--;
    if (this.#unread > 0) {
      this.#unread--;
      return;
    }
    if (!INLINE.has(name)) this.#endWord();
    if (name === "title") this.#title = undefined;
    else if (name === "a" && this.#anchor) {
      this.#keepAnchor(this.#anchor.href, this.#anchor.text);
      this.#anchor = undefined;
    } else if (HEADING.test(name) && this.#heading) {
      if (this.headings.length < PAGE_LIMITS.headings) this.headings.push(this.#heading);
      this.#heading = undefined;
    }
  }

  /** Block elements and line breaks end a word even without a space. */
  #endWord(): void {
    if (this.#pending === "") return;
    this.words += countWords(this.#pending);
    this.#pending = "";
    if (this.#heading) addText(this.#heading, " ");
    if (this.#anchor) addText(this.#anchor, " ");
  }

  #keepMeta({ name, property, "http-equiv": httpEquiv, content }: Readonly<Record<string, string | undefined>>): void {
    if (content === undefined || content.trim() === "") return;
    for (const key of [name, property, httpEquiv]) {
      const lower = key?.trim().toLowerCase();
      if (lower !== undefined && !this.meta.has(lower)) this.meta.set(lower, content);
    }
  }

  #keepAnchor(href: string, text: string): void {
    const known = this.anchors.get(href);
    if (known && known.text.trim() === "") known.text = text;
    if (!known && this.anchors.size < PAGE_LIMITS.anchors) this.anchors.set(href, { text });
  }
}

/** Adds to a text up to a limit; the limit leaves room for white space, which is collapsed later. */
function addText(to: Text, text: string): void {
  if (to.text.length < 4 * PAGE_LIMITS.text) to.text += text.slice(0, 4 * PAGE_LIMITS.text);
}
