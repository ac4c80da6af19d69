import { expect } from "chai";
import { inputJsonSchema } from "../../src/handler/input.ts";
import { isGiveUp, type Problem } from "../../src/handler/intents.ts";
import { digest } from "../../src/handlers/default.ts";
import type { PageDigest } from "../../src/handlers/digest/page.ts";
import { taskContext, thrownBy } from "./context.ts";
import { PageServer } from "./page-server.ts";

const run = async (input: { html: string } | { url: string }, signal?: AbortSignal): Promise<PageDigest> => {
  const { task } = taskContext(signal ? { signal } : {});
  return (await digest.run(input, task)) as PageDigest;
};
const problem = async (input: { html: string } | { url: string }): Promise<Problem> => {
  const thrown = await thrownBy(() => run(input));
  if (!isGiveUp(thrown)) throw thrown;
  return thrown.problem;
};

describe("the handler of the queue default", () => {
  describe("accepts", () => {
    const issues = async (value: unknown) => {
      const result = await digest.schema?.["~standard"].validate(value);
      return (result?.issues ?? []).map(({ path = [], message }) => `${path.join(".")}: ${message}`);
    };

    it("html or an http URL", async () => {
      for (const value of [{ html: "" }, { html: "<p>" }, { url: "http://a.b/" }, { url: "https://[::1]:1/x?y#z" }]) {
        expect(await issues(value), JSON.stringify(value)).to.deep.equal([]);
      }
    });

    it("exactly one of them, and no other members", async () => {
      expect(await issues({})).to.deep.equal([": expected exactly one of html and url"]);
      expect(await issues({ html: "", url: "http://a.b/" })).to.deep.equal([": expected exactly one of html and url"]);
      expect(await issues({ html: "", depth: 2 })).to.deep.equal([': Unrecognized key: "depth"']);
      expect(await issues({ url: "ftp://a.b/" })).to.deep.equal(["url: expected an http or https URL"]);
      for (const value of [null, "x", [], { html: 1 }, { url: "a.b" }]) {
        expect(await issues(value), JSON.stringify(value)).to.not.have.length(0);
      }
    });

    it("what its JSON Schema says", () => {
      const schema = inputJsonSchema(digest);
      expect(schema).to.deep.include({
        type: "object",
        additionalProperties: false,
        oneOf: [{ required: ["html"] }, { required: ["url"] }],
      });
      expect(schema).to.have.nested.property("properties.url.format", "uri");
      expect(schema).to.have.nested.property("properties.html.type", "string");
    });
  });

  describe("given html", () => {
    it("returns an empty digest for an empty page", async () => {
      expect(await run({ html: "" })).to.deep.equal({
        url: null,
        canonicalUrl: null,
        title: null,
        description: null,
        image: null,
        language: null,
        wordCount: 0,
        readingTimeSeconds: 0,
        headings: [],
        links: [],
        moreLinks: false,
      });
    });

    it("digests a whole page", async () => {
      const html = `<!doctype html><HTML lang=en-gb><head>
        <title>Fish &amp; Chips\n &mdash; caf&eacute;</title><title>second</title>
        <meta name="Description" content=" Fried,&#32;hot ">
        <link rel="stylesheet canonical" href="/fish"><base href="https://example.org/menu/">
        <meta property="og:image" content="fish.png">
        <style>p { color: red }</style><script>if (a < b) document.write("<p>never counted")</script></head>
        <body><h1>Our <em>menu</em></h1><h2> </h2><p>Two<br>lines</p>
        <a href="chips">The <b>chips</b></a> <a href="https://example.org/menu/chips">again</a> <a href=#top>up</a>
        <a href="mailto:a@b.c">mail</a> <a href="javascript:x()">no</a> <a href="http://[bad">bad</a>
        <a href="/logo"><img src=x alt="Logo"></a><noscript><a href="/hidden">hidden words</a></noscript>
        <template><p>not shown</p></template><svg><title>icon</title><text>drawn</text></svg></body></html>`;
      expect(await run({ html })).to.deep.equal({
        url: null,
        canonicalUrl: "https://example.org/fish",
        title: "Fish & Chips — café",
        description: "Fried, hot",
        image: "https://example.org/menu/fish.png",
        language: "en-GB",
        wordCount: 11, // Our menu Two lines The chips again up mail no bad
        readingTimeSeconds: 3,
        headings: [{ level: 1, text: "Our menu" }],
        links: [
          { href: "https://example.org/menu/chips", text: "The chips" },
          { href: "mailto:a@b.c", text: "mail" },
          { href: "https://example.org/logo", text: "Logo" },
        ],
        moreLinks: false,
      });
    });

    it("falls back to what a page tells social networks", async () => {
      const og = '<meta property="og:title" content="OG"><meta property="og:description" content="og text">';
      const twitter = '<meta name="twitter:title" content="TW"><meta name="twitter:description" content="tw text">';
      expect(await run({ html: `<title> </title>${twitter}${og}` })).to.include({
        title: "OG",
        description: "og text",
      });
      expect(await run({ html: twitter })).to.include({ title: "TW", description: "tw text" });
      expect(await run({ html: `<title>T</title><meta name=description content=D>${og}` })).to.include({
        title: "T",
        description: "D",
      });
      expect(await run({ html: "<h1>No title</h1>" })).to.include({ title: null, description: null });
    });

    it("reads the language from the html element, then from content-language, and returns null for an invalid one", async () => {
      const meta = '<meta http-equiv="Content-Language" content="de_AT, en">';
      expect((await run({ html: `<html xml:lang="zh-hans-cn">${meta}` })).language).to.equal("zh-Hans-CN");
      expect((await run({ html: meta })).language).to.equal("de-AT");
      expect((await run({ html: `<html lang="the usual one">` })).language).to.equal(null);
    });

    it("counts words in scripts without spaces, and counts a word across inline elements once", async () => {
      const words = async (html: string) => (await run({ html })).wordCount;
      expect(await words("<p>日本語のテキスト、中文分词测试。</p>")).to.equal(6);
      expect(await words("<p>ภาษาไทยง่าย")).to.equal(3);
      expect(await words("한국어 문장입니다")).to.equal(2);
      expect(await words("un<b>believ</b>able<wbr>ness co&shy;op")).to.equal(2);
      expect(await words("<td>one<td>two<li>three<div>four</div>five<img>six&nbsp;seven")).to.equal(7);
      expect(await words("don’t e-mail 3.14 or 1,000 — naïve… & so/so")).to.equal(8);
    });

    it("keeps relative links as written if there is no base", async () => {
      const { links } = await run({
        html: '<a href="a/b?c">x</a><a href=" /d ">y</a><a href="">z</a><map><area href=e alt=E></map>',
      });
      expect(links).to.deep.equal([
        { href: "a/b?c", text: "x" },
        { href: "/d", text: "y" },
        { href: "e", text: "E" },
      ]);
    });

    it("truncates long values without cutting a character in half", async () => {
      const anchors = Array.from({ length: 700 }, (_, i) => `<a href="/${i}">${"x".repeat(400)}</a>`).join("");
      const page = await run({ html: `<title>${"😀".repeat(400)}</title>${anchors}` });
      expect(page.links).to.have.length(500);
      expect(page.moreLinks).to.equal(true);
      expect(page.links[0]?.text).to.equal(`${"x".repeat(299)}…`);
      expect(page.title).to.equal(`${"😀".repeat(149)}…`);
    });

    it("digests badly broken HTML", async () => {
      const page = await run({ html: "<p <b>x</i></p></p><a href='u'>open <h2>never closed <!-- " });
      expect(page.links).to.deep.equal([{ href: "u", text: "open never closed" }]);
    });

    it("ignores URLs longer than 2,048 characters, even as the base of thousands of links", async () => {
      const long = "a".repeat(950_000);
      const anchors = Array.from({ length: 5000 }, (_, i) => `<a href=${i}>x</a>`).join("");
      // Every link would be as long as the base, and so none would be kept and all of them tried.
      const page = await run({ html: `<base href="http://x/${long}/">${anchors}<link rel=canonical href="/${long}">` });
      expect(page.links.slice(0, 2)).to.deep.equal([
        { href: "0", text: "x" },
        { href: "1", text: "x" },
      ]);
      expect(page).to.deep.include({ moreLinks: true, canonicalUrl: null });
      const og = `<meta property=og:image content="/${long}">`;
      expect(await run({ html: `${og}<a href="${long}">x</a>` })).to.deep.include({ image: null, links: [] });
    });

    it("yields to other tasks while it parses a page that is made to take long", async () => {
      // 1 MB of each; a link that is tried and passed over costs as much as one that is kept.
      const base = `<base href="http://x/${"a/".repeat(1000)}">`;
      const shapes = {
        "links that all come out too long":
          base + Array.from({ length: 5000 }, (_, i) => `<a href=${"b".repeat(90)}${i}>`).join(""),
        "a dictionary's work for every word": "日a".repeat(250_000),
        "elements that close nothing": "<b>".repeat(999) + "</x>".repeat(200_000),
        "comments that never end": "<!--".repeat(250_000),
        "entities that are none": "&notit".repeat(160_000),
        "attributes by the thousand": `<a ${Array.from({ length: 150_000 }, (_, i) => `a${i}`).join(" ")}>`,
        "nothing but <": "<".repeat(1_000_000),
      };
      for (const [shape, html] of Object.entries(shapes)) {
        let turns = 0;
        let working = true;
        const other = (): void => {
          turns += 1;
          if (working) setImmediate(other);
        };
        setImmediate(other);
        await run({ html });
        working = false;
        // One at least for each 16 KiB of it.
        expect(turns, shape).to.be.above(html.length / 16_384);
      }
    });

    it("gives up on elements that are nested too deeply", async () => {
      const thrown = await problem({ html: "<b>".repeat(300_000) });
      expect(thrown).to.deep.include({ status: 422, title: "The page cannot be digested" });
      expect(thrown.detail).to.match(/^html: the page has more than 1000 nested elements/);
    });

    it("stops in the middle of a long page when the signal fires", async () => {
      const stop = new AbortController();
      const digesting = run({ html: "<p>word</p>".repeat(200_000) }, stop.signal);
      const reason = new Error("canceled");
      setImmediate(() => stop.abort(reason));
      expect(await thrownBy(() => digesting)).to.equal(reason);
    });
  });

  describe("given a url", () => {
    let pages: PageServer;
    const before = process.env.FETCH_ALLOW;
    beforeEach(async () => {
      process.env.FETCH_ALLOW = "127.0.0.1";
      pages = await PageServer.start();
    });
    afterEach(async () => {
      if (before === undefined) delete process.env.FETCH_ALLOW;
      else process.env.FETCH_ALLOW = before;
      await pages.stop();
    });

    it("digests the page, with links resolved against its final URL", async () => {
      const found = pages.at("/en/page", '<base href="../"><title>Hi</title><a href="x">x</a>', {
        "content-language": "en",
      });
      const url = pages.at("/", (response) => response.writeHead(302, { location: "/en/page" }).end());
      const { task, reports } = taskContext();
      expect(await digest.run({ url }, task)).to.deep.include({
        url: found,
        title: "Hi",
        language: "en",
        links: [{ href: pages.url("/x"), text: "x" }],
      });
      expect(reports.map((r) => r.message)).to.deep.equal(["fetching the page", "digesting the page"]);
    });

    it("gives up on an address that is not public, naming the field", async () => {
      process.env.FETCH_ALLOW = "";
      const url = pages.at("/", "secret");
      expect(await problem({ url })).to.deep.equal({
        status: 422,
        title: "The page cannot be digested",
        detail: "url: 127.0.0.1 is not a public address",
        errors: [{ pointer: "#/url", detail: "127.0.0.1 is not a public address" }],
      });
      expect(pages.asked).to.have.length(0);
    });

    it("gives up on a page that would fail again", async () => {
      const status = (code: number) => pages.at(`/${code}`, (response) => response.writeHead(code).end());
      const loop = pages.at("/loop", (response) => response.writeHead(302, { location: "/loop" }).end());
      for (const [url, detail] of [
        [status(404), "the page answered 404"],
        [status(410), "the page answered 410"],
        [pages.at("/png", "x", { "content-type": "image/png" }), 'the page is "image/png", expected text/html'],
        [loop, "the page redirects more than 5 times"],
      ] as const) {
        expect(await problem({ url })).to.include({ status: 422, detail: `url: ${detail}` });
      }
    });

    it("fails the attempt if the server or the network is at fault", async () => {
      for (const code of [408, 425, 429, 500, 503]) {
        const url = pages.at("/", (response) => response.writeHead(code).end());
        const thrown = await thrownBy(() => run({ url }));
        expect(isGiveUp(thrown), String(code)).to.equal(false);
        expect((thrown as Error).message).to.equal(`the page answered ${code}`);
      }
      const url = pages.at("/", (response) => response.destroy());
      expect(isGiveUp(await thrownBy(() => run({ url })))).to.equal(false);
    });

    it("stops when the signal fires", async () => {
      const stop = new AbortController();
      const reason = new Error("shutdown");
      const url = pages.at("/", () => stop.abort(reason));
      expect(await thrownBy(() => run({ url }, stop.signal))).to.equal(reason);
    });
  });
});
