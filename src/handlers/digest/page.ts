import { setImmediate as nextTurn } from "node:timers/promises";
import { type Heading, PAGE_LIMITS, PageReader } from "./reader.ts";
import { readingTime } from "./words.ts";

/** Limits of a digest. */
export const DIGEST_LIMITS = { links: 500, title: 300, description: 1000, href: 2048 } as const;

interface Link {
  /** Absolute; as in the page if there is no base URL. */
  href: string;
  /** The visible text of the link, or the `alt` of its image; may be empty. */
  text: string;
}

/** The summary of a page. */
export interface PageDigest {
  /** The URL of the page after redirects; null for HTML in the input. */
  url: string | null;
  /** The URL that the page declares as its own. */
  canonicalUrl: string | null;
  title: string | null;
  description: string | null;
  /** URL of the page's preview image. */
  image: string | null;
  /** BCP 47 tag, e.g. `en-GB`. */
  language: string | null;
  wordCount: number;
  readingTimeSeconds: number;
  /** The first 100 that are not empty. */
  headings: Heading[];
  /** The first 500 distinct links, in the order of the page. */
  links: Link[];
  /** Whether the page has more links than `links`. */
  moreLinks: boolean;
}

export interface DigestOptions {
  /** The URL of the page. */
  url?: string | undefined;
  /** The Content-Language header, for a page that does not declare its language. */
  language?: string | undefined;
  signal: AbortSignal;
}

/** Characters parsed at once; between two pieces other tasks can run. Counting the words of a piece takes 40 ms at worst. */
const PIECE = 8 * 1024;
/** Links resolved at once. */
const LINKS_AT_ONCE = 100;

/**
 * Digests a page. Text in script, style, template, noscript, svg and the like does not count.
 * @throws NestedTooDeep
 * @throws the signal's reason when it fires
 */
export async function digestPage(html: string, options: DigestOptions): Promise<PageDigest> {
  const reader = new PageReader();
  for (let at = 0; at < html.length; at += PIECE) {
    options.signal.throwIfAborted();
    reader.write(html.slice(at, at + PIECE));
    await nextTurn();
  }
  reader.end();

  const { meta } = reader;
  const base = resolve(reader.base, options.url) ?? resolve(options.url, undefined);
  const links = await resolveLinks(reader, base, options.signal);
  const image = (meta.get("og:image") ?? meta.get("twitter:image") ?? "").trim();
  return {
    url: options.url ?? null,
    canonicalUrl: resolve(reader.canonical, base) ?? null,
    title:
      clean(reader.title?.text, DIGEST_LIMITS.title) ??
      clean(meta.get("og:title"), DIGEST_LIMITS.title) ??
      clean(meta.get("twitter:title"), DIGEST_LIMITS.title),
    description:
      clean(meta.get("description"), DIGEST_LIMITS.description) ??
      clean(meta.get("og:description"), DIGEST_LIMITS.description) ??
      clean(meta.get("twitter:description"), DIGEST_LIMITS.description),
    image: image === "" || image.length > DIGEST_LIMITS.href ? null : (resolve(image, base) ?? image),
    language:
      languageTag(reader.language) ?? languageTag(meta.get("content-language")) ?? languageTag(options.language),
    wordCount: reader.words,
    readingTimeSeconds: readingTime(reader.words),
    headings: reader.headings.flatMap(({ level, text }) => {
      const words = clean(text, PAGE_LIMITS.text);
      return words === null ? [] : [{ level, text: words }];
    }),
    links: links.slice(0, DIGEST_LIMITS.links),
    moreLinks: links.length > DIGEST_LIMITS.links,
  };
}

/**
 * Links to other resources: not within the page, not script, not data. Returns one more than a digest contains, to show that
 * there are more.
 */
async function resolveLinks(reader: PageReader, base: string | undefined, signal: AbortSignal): Promise<Link[]> {
  const links = new Map<string, Link>();
  let tried = 0;
  for (const [written, { text }] of reader.anchors) {
    if (links.size > DIGEST_LIMITS.links) break;
    if (++tried % LINKS_AT_ONCE === 0) {
      signal.throwIfAborted();
      await nextTurn();
    }
    const trimmed = written.trim();
    if (trimmed === "" || trimmed.startsWith("#") || trimmed.length > DIGEST_LIMITS.href) continue;
    const href = resolve(trimmed, base) ?? (base === undefined && !trimmed.includes(":") ? trimmed : undefined);
    if (href === undefined || /^(?:javascript|data|blob|vbscript):/i.test(href)) continue;
    const known = links.get(href);
    const label = clean(text, PAGE_LIMITS.text) ?? "";
    if (!known) links.set(href, { href, text: label });
    else if (known.text === "") known.text = label;
  }
  return [...links.values()];
}

/**
 * The absolute form of a URL; undefined if it is invalid or too long for a digest. Both arguments are limited, since resolving
 * thousands of links against a base of a megabyte would take a minute.
 */
function resolve(href: string | undefined, base: string | undefined): string | undefined {
  const written = href?.trim();
  if (written === undefined || written.length > DIGEST_LIMITS.href || !URL.canParse(written, base)) return undefined;
  const resolved = new URL(written, base).href;
  return resolved.length > DIGEST_LIMITS.href ? undefined : resolved;
}

/** A text on one line, cut to a length; null if it is empty. */
function clean(text: string | undefined, length: number): string | null {
  const line = (text ?? "").replace(/\s+/g, " ").trim();
  if (line === "") return null;
  if (line.length <= length) return line;
  // Drops half a surrogate pair at the cut.
  return `${line
    .slice(0, length - 1)
    .replace(/[\uD800-\uDBFF]$/, "")
    .trimEnd()}…`;
}

/** The first language tag of a list, in canonical form; null if it is invalid. */
function languageTag(written: string | undefined): string | null {
  const first = (written ?? "").split(",", 1)[0]?.trim().replaceAll("_", "-");
  if (!first) return null;
  try {
    return Intl.getCanonicalLocales(first)[0] ?? null;
  } catch {
    return null;
  }
}
