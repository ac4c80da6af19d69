import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { type Answer, startServer, type TestServer } from "../../../helpers/http/server.ts";
import { ROOT } from "../../../shared/root.ts";

const DOCS = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md") && name !== "README.md");

describe("the documents", () => {
  let server: TestServer;
  const pages = new Map<string, Answer>();
  before(async () => {
    server = await startServer();
    for (const name of ["guides", ...DOCS.map((file) => file.replace(/\.md$/, ""))])
      pages.set(`/docs/${name}`, await server.send(`/docs/${name}`));
  });
  after(() => server.stop());

  it("are pages under a strict policy, without scripts, and with nothing from other hosts", () => {
    for (const [path, { status, headers, text }] of pages) {
      expect([status, headers["content-type"]], path).to.deep.equal([200, "text/html; charset=utf-8"]);
      expect(headers["content-security-policy"], path).to.contain("default-src 'none'").and.not.contain("unsafe");
      expect(text, path).to.match(/<h1 id="[^"]+">.+<\/h1>/);
      // Code may show anything.
      expect(text.replaceAll(/<pre.*?<\/pre>/gs, ""), path).not.to.match(
        /<script|<style|\sstyle=|\son\w+=|\{\{|src="http/,
      );
    }
  });

  it("link to each other and to parts of each other, and to nothing that is not served", async () => {
    const others = new Set<string>();
    for (const [path, { text }] of pages) {
      for (const [, href = ""] of text.matchAll(/<a href="([^"]+)"/g)) {
        if (/^https?:/.test(href)) continue;
        const [target = "", anchor] = href.split("#");
        const page = pages.get(target === "" ? path : target);
        if (!page) others.add(target);
        else if (anchor !== undefined) expect(page.text, `${path} links to ${href}`).to.contain(` id="${anchor}"`);
      }
    }
    for (const other of others) expect((await server.send(other)).status, other).to.equal(200);
    expect(pages.get("/docs/guides")?.text).to.contain('<a href="/docs/handlers">');
  });

  it("show code, tables and pictures", async () => {
    expect(pages.get("/docs/handlers")?.text).to.match(
      /<pre tabindex="0"><code class="language-ts">[^<]*defineHandler/,
    );
    expect(pages.get("/docs/concepts")?.text).to.contain('tabindex="0"><table>');
    for (const { text } of pages.values())
      for (const [, src = ""] of text.matchAll(/<img src="([^"]+)"/g)) {
        const picture = await server.send(src);
        expect([picture.status, picture.headers["content-type"]], src).to.deep.equal([200, "image/png"]);
      }
  });

  it("are also served as Markdown, and all listed in llms.txt", async () => {
    const source = await server.send("/docs/handlers.md");
    expect([source.status, source.headers["content-type"]]).to.deep.equal([200, "text/markdown; charset=utf-8"]);
    expect(source.text).to.match(/^# Write a handler\n/);
    const llms = await server.send("/llms.txt");
    expect([llms.status, llms.headers["content-type"]]).to.deep.equal([200, "text/plain; charset=utf-8"]);
    const linked = [...llms.text.matchAll(/\]\(([^)]+)\)/g)].map(([, path = ""]) => path);
    expect(linked).to.have.members(DOCS.map((file) => `/docs/${file}`));
    for (const path of linked) expect((await server.send(path)).status, path).to.equal(200);
  });

  it("are the only files served from their folder", async () => {
    for (const path of ["/docs/README", "/docs/../package.json", "/docs/..%2f..%2fpackage.json", "/docs/constructor"])
      expect((await server.send(path)).status, path).to.be.oneOf([404, 400]);
  });
});
