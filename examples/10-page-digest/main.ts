/** A page goes in as HTML, what it says comes out as JSON: `npx tsx examples/10-page-digest/main.ts`. */
import { Parser } from "htmlparser2";
import { defineHandler, giveUp, start } from "paihao";
import { PaihaoClient } from "paihao/client";

/** Text in these is not read by people. */
const UNREAD = new Set(["script", "style", "template", "noscript", "svg"]);
/** An element closes all that is still open in it, so a page of open elements alone would take quadratic time. */
const MAX_DEPTH = 500;

/** What a page says. */
interface Digest {
  title: string;
  language: string | null;
  words: number;
  headings: string[];
  links: string[];
}

const digest = defineHandler({
  queue: "digest",
  // The input is the bytes of the request.
  consumes: ["text/html"],
  run(page: Uint8Array): Digest {
    const texts: Record<"title" | "headings" | "words", string[]> = { title: [], headings: [], words: [] };
    const open: string[] = [];
    const links = new Set<string>();
    let language: string | null = null;
    const parser = new Parser({
      onopentag(name, { href, lang }) {
        if (open.push(name) > MAX_DEPTH) throw giveUp({ status: 422, title: "The elements are nested too deeply" });
        if (name === "html") language = lang ?? null;
        if (name === "a" && href && !href.startsWith("#")) links.add(href);
        if (/^h[1-6]$/.test(name)) texts.headings.push("");
      },
      ontext(text) {
        if (open.some((name) => UNREAD.has(name))) return;
        if (open.at(-1) === "title") texts.title.push(text);
        else texts.words.push(text);
        if (open.some((name) => /^h[1-6]$/.test(name))) texts.headings.push(`${texts.headings.pop() ?? ""}${text}`);
      },
      onclosetag: () => void open.pop(),
    });
    parser.end(new TextDecoder().decode(page));
    return {
      title: texts.title.join("").trim(),
      language,
      words: texts.words.join(" ").match(/[\p{L}\p{N}]+/gu)?.length ?? 0,
      headings: texts.headings.map((text) => text.trim()),
      links: [...links],
    };
  },
});

await using server = await start({ handlers: [digest], port: 0, store: "embedded", logLevel: "error" });
const client = new PaihaoClient<{ digest: typeof digest }>({ url: server.url });

const page = `<!doctype html><html lang="en"><title>Menu</title><script>track()</script>
<h1>Today</h1><p>Soup and <a href="/bread">fresh bread</a>.</p>`;
console.log(await client.run("digest", new Blob([page], { type: "text/html" })));

const nested = new Blob(["<div>".repeat(1000)], { type: "text/html" });
console.log(await client.run("digest", nested).catch((error: Error) => error.message));
