import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { expect } from "chai";
import { fetchPage as fetchAsHandler } from "../../../src/handler/fetch/fetch-page.ts";
import { FetchError, type FetchOptions, fetchPage } from "../../../src/handler/fetch/guarded-fetch.ts";
import { AddressGuard, parseAllowList } from "../../../src/net/ssrf-guard.ts";
import { thrownBy } from "../../handlers/context.ts";
import { PageServer } from "../../handlers/page-server.ts";
import { reservePort } from "../../shared/ports.ts";

describe("fetching a page", () => {
  let pages: PageServer;
  beforeEach(async () => {
    pages = await PageServer.start();
  });
  afterEach(() => pages.stop());

  const guard = new AddressGuard(parseAllowList(["127.0.0.1"]));
  const get = (url: string, options: Partial<FetchOptions> = {}) =>
    fetchPage(url, { guard, signal: new AbortController().signal, ...options });
  const failure = async (url: string, options: Partial<FetchOptions> = {}): Promise<FetchError> => {
    const thrown = await thrownBy(() => get(url, options));
    expect(thrown).to.be.instanceOf(FetchError);
    return thrown as FetchError;
  };
  const redirect = (from: string, to: string | undefined, status = 302) =>
    pages.at(from, (response) => response.writeHead(status, to === undefined ? {} : { location: to }).end("moved"));

  it("returns the page, its final URL and its language", async () => {
    const url = pages.at("/a?b", "<p>hé", { "content-type": "text/html; charset=utf-8", "content-language": "fr" });
    expect(await get(url)).to.deep.equal({ url, html: "<p>hé", language: "fr" });
  });

  it("by a handler reaches the hosts in its `allow`", async () => {
    const url = pages.at("/inside", "<p>inside");
    const { signal } = new AbortController();
    expect((await fetchAsHandler(url, { signal, allow: ["127.0.0.0/8"] })).html).to.equal("<p>inside");
    for (const allow of [[], ["10.0.0.1"]]) {
      expect(await thrownBy(() => fetchAsHandler(url, { signal, allow }))).to.include({ failure: "refused" });
    }
  });

  it("accepts HTML, XHTML and a page without a type, and nothing else", async () => {
    expect((await get(pages.at("/x", "x", { "content-type": "Application/XHTML+xml" }))).html).to.equal("x");
    expect((await get(pages.at("/none", (response) => response.end("none")))).html).to.equal("none");
    const error = await failure(pages.at("/pdf", "%PDF", { "content-type": "application/pdf" }));
    expect(error).to.include({ failure: "not-html", message: 'the page is "application/pdf", expected text/html' });
  });

  it("fails with the status of a response outside 2xx", async () => {
    for (const status of [304, 404, 500]) {
      const url = pages.at(`/${status}`, (response) => response.writeHead(status).end());
      expect(await failure(url)).to.include({ failure: "status", status, message: `the page answered ${status}` });
    }
    expect(await failure(redirect("/nowhere", undefined))).to.include({ failure: "status", status: 302 });
  });

  describe("that is encoded", () => {
    const decoded = async (bytes: Uint8Array, charset = "") =>
      (await get(pages.at("/c", bytes, { "content-type": `text/html${charset}` }))).html;

    it("reads the charset of the content type", async () => {
      expect(await decoded(Buffer.from([0x93, 0xfa, 0x96, 0x7b]), "; charset=Shift_JIS")).to.equal("日本");
      expect(await decoded(Buffer.from([0xb1, 0xe6]), '; charset="iso-8859-2"; x=y')).to.equal("ąć");
      expect(await decoded(Buffer.from([0xd6, 0xd0]), ";charset=GBK")).to.equal("中");
      expect(await decoded(Buffer.from("é\x80", "latin1"), "; charset=latin1")).to.equal("é€");
    });

    it("reads the charset that the page names itself", async () => {
      const page = (head: string) => Buffer.concat([Buffer.from(head), Buffer.from([0xcf, 0xf0, 0xe8])]);
      for (const head of [
        "<meta charset=windows-1251>",
        "<META  content='text/html; charset=windows-1251' http-equiv=content-type>",
        '<!-- <meta charset="shift_jis"> --><meta charset="windows-1251"/>',
        '<?xml version="1.0" encoding="windows-1251"?>',
      ]) {
        expect(await decoded(page(head)), head).to.equal(`${head}При`);
      }
    });

    it("prefers a byte order mark to the content type, and the content type to the page's own charset", async () => {
      expect(await decoded(Buffer.from("\uFEFFé"), "; charset=latin1")).to.equal("é");
      expect(await decoded(Buffer.from("\uFEFFé", "utf16le"), "; charset=utf-8")).to.equal("é");
      expect(await decoded(Buffer.from("<meta charset=latin1>é"), "; charset=utf-8")).to.contain("é");
    });

    it("reads a page without a known charset as UTF-8, or else as windows-1252", async () => {
      expect(await decoded(Buffer.from("€é"), "; charset=klingon")).to.equal("€é");
      expect(await decoded(Buffer.from([0x93, 0x80, 0xe9, 0x94]))).to.equal("“€é”");
      expect(await decoded(Buffer.from("<meta charset=utf-16>é"))).to.contain("é");
    });
  });

  describe("that is compressed", () => {
    it("accepts gzip, brotli and deflate", async () => {
      for (const [encoding, bytes] of Object.entries({
        gzip: gzipSync("hello"),
        "X-GZIP": gzipSync("hello"),
        br: brotliCompressSync("hello"),
        deflate: deflateSync("hello"),
        identity: Buffer.from("hello"),
      })) {
        const url = pages.at("/z", bytes, { "content-encoding": encoding });
        expect((await get(url)).html, encoding).to.equal("hello");
      }
    });

    it("stops a bomb at the limit", async () => {
      for (const [encoding, bytes] of Object.entries({
        gzip: gzipSync(Buffer.alloc(30_000_000)),
        br: brotliCompressSync(Buffer.alloc(30_000_000)),
      })) {
        expect(bytes.length).to.be.below(100_000);
        const url = pages.at("/bomb", bytes, { "content-encoding": encoding });
        expect((await failure(url, { maxBytes: 100_000 })).failure, encoding).to.equal("too-large");
      }
    });

    it("fails if the bytes do not match the encoding or end early, or the encoding is unknown", async () => {
      for (const [encoding, bytes] of [
        ["gzip", Buffer.from("plain text")],
        ["gzip", gzipSync("hello").subarray(0, 12)],
        ["br", Buffer.from("plain text, not brotli")],
        ["compress", Buffer.from("x")],
      ] as const) {
        const url = pages.at("/bad", bytes, { "content-encoding": encoding });
        expect((await failure(url)).failure, encoding).to.equal("unreadable");
      }
    });
  });

  describe("that is too large", () => {
    it("fails by its Content-Length, before the body", async () => {
      const url = pages.at("/", (response) => {
        response.writeHead(200, { "content-type": "text/html", "content-length": 5001 }).flushHeaders();
      });
      expect(await failure(url, { maxBytes: 5000 })).to.include({
        failure: "too-large",
        message: "the page is larger than 5000 bytes",
      });
    });

    it("fails as soon as an endless stream is over the limit, and hangs up", async () => {
      let hungUp = () => {};
      const closed = new Promise<void>((resolve) => {
        hungUp = resolve;
      });
      const url = pages.at("/", (response) => {
        response.writeHead(200, { "content-type": "text/html" });
        const more = () =>
          response.write(Buffer.alloc(10_000), (error) => error ?? (response.destroyed || setImmediate(more)));
        response.on("close", hungUp);
        more();
      });
      expect((await failure(url, { maxBytes: 50_000 })).failure).to.equal("too-large");
      await closed;
    });

    it("passes at exactly the limit", async () => {
      expect((await get(pages.at("/", "12345"), { maxBytes: 5 })).html).to.equal("12345");
    });
  });

  describe("that redirects", () => {
    it("follows up to five redirects, relative or absolute, and reports the final URL", async () => {
      const end = pages.at("/dir/end", "end");
      redirect("/1", pages.url("/dir/2"), 301);
      redirect("/dir/2", "3", 302);
      redirect("/dir/3", "/4", 303);
      redirect("/4", `//127.0.0.1:${pages.port}/5`, 307);
      redirect("/5", "/dir/end#part", 308);
      const page = await get(pages.url("/1"));
      expect(page.html).to.equal("end");
      expect(page.url).to.equal(`${end}#part`);
    });

    it("gives up on a loop", async () => {
      redirect("/a", "/b");
      expect((await failure(redirect("/b", "/a"))).failure).to.equal("redirects");
      expect(pages.asked).to.deep.equal(["/b", "/a", "/b", "/a", "/b", "/a"]);
    });

    it("checks every address anew", async () => {
      const hidden = pages.at("/secret", "secret");
      for (const to of [
        `http://0.0.0.0:${pages.port}/secret`,
        hidden.replace("127.0.0.1", "127.0.0.2"),
        "http://[::1]/",
      ]) {
        expect((await failure(redirect("/", to))).failure, to).to.equal("refused");
      }
      for (const to of ["file:///etc/passwd", "javascript:alert(1)", "http://user:pass@127.0.0.1/"]) {
        expect((await failure(redirect("/", to))).failure, to).to.equal("refused");
      }
      expect((await failure(redirect("/", "http://a b/"))).failure).to.equal("redirects");
      expect(pages.asked).to.not.include("/secret");
    });
  });

  describe("that cannot be fetched", () => {
    it("refuses an address that is not public", async () => {
      const closed = new AddressGuard(parseAllowList([]));
      const url = pages.at("/", "secret");
      expect((await failure(url, { guard: closed })).failure).to.equal("refused");
      expect((await failure(pages.url("/", "localhost"), { guard: closed })).failure).to.equal("refused");
      expect(pages.asked).to.have.length(0);
    });

    it("reports that nothing listens, no such name exists, or the connection broke", async () => {
      const refused = await failure(`http://127.0.0.1:${await reservePort()}/`);
      expect(refused).to.include({ failure: "unreachable", message: "the page cannot be reached (ECONNREFUSED)" });
      expect((await failure("http://no-such-host.invalid/")).failure).to.equal("unreachable");
      const cut = pages.at("/cut", (response) => {
        response.writeHead(200, { "content-type": "text/html", "content-length": 100 });
        response.write("half", () => response.destroy());
      });
      expect((await failure(cut)).failure).to.equal("unreachable");
      const dead = pages.at("/dead", (response) => response.destroy());
      expect((await failure(dead)).failure).to.equal("unreachable");
    });

    it("stops at the time limit, before the answer, within the body and across redirects", async () => {
      const silent = pages.at("/silent", () => {});
      const slow = pages.at("/slow", (response) => {
        response.writeHead(200, { "content-type": "text/html" }).write("one byte at a ti");
      });
      for (const url of [silent, slow, redirect("/to", "/silent")]) {
        const error = await failure(url, { timeoutMs: 50 });
        expect(error).to.include({ failure: "timed-out", message: "the page took longer than 50 ms" });
      }
    });

    it("stops when the signal fires, with its reason", async () => {
      const stop = new AbortController();
      const reason = new Error("canceled");
      const url = pages.at("/", (response) => {
        response.writeHead(200, { "content-type": "text/html" }).write("some", () => stop.abort(reason));
      });
      expect(await thrownBy(() => get(url, { signal: stop.signal }))).to.equal(reason);
      expect(await thrownBy(() => get(url, { signal: stop.signal }))).to.equal(reason);
      expect(pages.asked).to.have.length(1);
    });
  });
});
