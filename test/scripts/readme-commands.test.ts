import { expect } from "chai";
import { readmeCommands } from "../../scripts/readme.ts";

const block = (...lines: string[]) => ["# Title", "```sh", ...lines, "```"].join("\n");

describe("the curl lines of a README", () => {
  it("are those of shell blocks, with their line and without what is said of them", () => {
    const markdown = [
      "curl not-in-a-block",
      block("npm start", "$ curl -i localhost:3000/healthz   # → 200 OK"),
      "```js",
      "curl x",
      "```",
    ];
    expect(readmeCommands(markdown.join("\n"))).to.deep.equal([
      { line: 5, command: "curl -i localhost:3000/healthz", expected: { statuses: [[200]], contains: [] } },
    ]);
  });

  it("may be continued, and said of on comment lines below", () => {
    const [command, ...more] = readmeCommands(
      block(
        "curl -X POST localhost:3000/v1/requests \\",
        "  -H 'Prefer: respond-async' \\",
        `  -d '{"html":"<b># 404</b>"}'`,
        "# → 202 Accepted with",
        '#   `"index":0` and a Location',
        "",
        "# a comment",
        "curl localhost:3000/b",
      ),
    );
    expect(command).to.deep.equal({
      line: 3,
      command: `curl -X POST localhost:3000/v1/requests -H 'Prefer: respond-async' -d '{"html":"<b># 404</b>"}'`,
      expected: { statuses: [[202]], contains: ['"index":0'] },
    });
    expect(more).to.deep.equal([
      { line: 10, command: "curl localhost:3000/b", expected: { statuses: [], contains: [] } },
    ]);
  });

  const claims: Record<string, number[][]> = {
    "202": [[202]],
    "HTTP 404 with the index, then 200 with 350 words": [[404], [200]],
    "200 or 201": [[200, 201]],
    "404 or 202 while it waits, then a 200 or 204": [
      [404, 202],
      [200, 204],
    ],
    "`200`": [],
    "the number 1234": [],
  };
  for (const [claim, statuses] of Object.entries(claims)) {
    it(`are read as ${JSON.stringify(statuses)} where the README says "${claim}"`, () => {
      expect(readmeCommands(block(`curl localhost:3000/a # → ${claim}`))[0]?.expected.statuses).to.deep.equal(statuses);
    });
  }
});
