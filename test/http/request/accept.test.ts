import { expect } from "chai";
import { prefersHtml, weightOf } from "../../../src/http/request/accept.ts";

/** RFC 9110 §12.5.1 (Accept) and §12.4.2 (quality values). */
describe("Accept", () => {
  it("weighs a type by the most specific range, in any order (§12.5.1)", () => {
    const accept = "text/*;q=0.3, text/html;q=0.7, */*;q=0.5";
    expect(weightOf(accept, "text/html")).to.equal(0.7);
    expect(weightOf(accept, "text/plain")).to.equal(0.3);
    expect(weightOf(accept, "application/json")).to.equal(0.5);
    expect(weightOf("text/html", "application/json")).to.equal(0);
    expect(weightOf("", "application/json")).to.equal(1);
  });

  it("prefers the page for browsers", () => {
    for (const accept of [
      "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
      "text/html",
      "TEXT/HTML ; level=1",
      "application/json;q=0.9, text/html",
      "text/*, application/json;q=0.5",
    ]) {
      expect(prefersHtml(accept), accept).to.equal(true);
    }
  });

  it("prefers the document for everyone else: no Accept, any type, equal weights, HTML refused", () => {
    for (const accept of [
      ...["", "*/*", "application/json", "application/*", "text/event-stream", "text/html, application/json"],
      ...["text/html;q=0.5, application/json", "text/html;q=0", "text/html;q=0.000, */*;q=0", "text/html;q=high"],
      ...['text/html;q="1', "text/html;q=2", 'x;a="text/html, b"', ",,;"],
    ]) {
      expect(prefersHtml(accept), accept).to.equal(false);
    }
  });
});
