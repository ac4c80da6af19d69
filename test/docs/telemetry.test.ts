import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { startServer } from "../helpers/http/server.ts";
import { ROOT } from "../shared/root.ts";

/** The metrics of an exposition, by name: type and labels; without `le`, and without Node's own ones. */
function metricsOf(exposition: string): Map<string, { type: string; labels: Set<string> }> {
  const found = new Map<string, { type: string; labels: Set<string> }>();
  for (const line of exposition.split("\n")) {
    const [, name = "", type = ""] = /^# TYPE (paihao_\w+) (\w+)$/.exec(line) ?? [];
    if (name !== "") found.set(name, { type, labels: new Set() });
    const [, series = "", labels = ""] = /^(paihao_\w+?)(?:_bucket|_sum|_count)?\{(.*)\} \S+$/.exec(line) ?? [];
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) if (label !== "le") found.get(series)?.labels.add(label);
  }
  return found;
}

/** The rows of the table of metrics. */
function rowsOf(guide: string): { name: string; type: string; labels: string[]; text: string }[] {
  return [...guide.matchAll(/^\| `(paihao_\w+)` \| (\w+) \| (.*?) ?\| (.*) \|$/gm)].map(
    ([, name, type, labels, text]) => ({
      name: name ?? "",
      type: type ?? "",
      labels: [...(labels ?? "").matchAll(/`(\w+)`/g)].map(([, label]) => label ?? ""),
      text: text ?? "",
    }),
  );
}

describe("docs/operations.md", () => {
  const rows = rowsOf(readFileSync(path.join(ROOT, "docs/operations.md"), "utf8"));
  let exposition: string;

  before(async () => {
    const server = await startServer();
    try {
      await server.post("default", 1);
      await server.send("/nowhere");
      exposition = (await server.send("/metrics")).text;
    } finally {
      await server.stop();
    }
  });

  it("lists every metric with its type, and no other", () => {
    const listed = rows.map(({ name, type }) => [name, type]);
    expect(listed).to.have.deep.members([...metricsOf(exposition)].map(([name, { type }]) => [name, type]));
  });

  it("lists the labels of every metric", () => {
    const known = metricsOf(exposition);
    for (const { name, labels } of rows) {
      const shown = [...(known.get(name)?.labels ?? [])];
      // Metrics of what has not happened have no series yet.
      if (shown.length > 0) expect(labels, name).to.have.members(shown);
    }
  });

  it("says how long handlers and requests took, by route", () => {
    expect(exposition).to.match(/^paihao_attempt_duration_seconds_count\{queue="default",end="result"\} 1$/m);
    const requests = (labels: string) => `paihao_http_request_duration_seconds_count{${labels}} 1\n`;
    expect(exposition).to.include(requests('method="POST",route="/v1/queues/:queue/requests",status="200"'));
    expect(exposition).to.include(requests('method="GET",route="",status="404"'));
  });

  it("follows the conventions of Prometheus, as promtool sees them", function () {
    const checked = spawnSync("promtool", ["check", "metrics"], { input: exposition, encoding: "utf8" });
    if (checked.error) this.skip();
    // The names of Node's own metrics are those of prom-client, which others' dashboards expect.
    const complaints = `${checked.stdout}${checked.stderr}`.split("\n").filter((line) => line.startsWith("paihao_"));
    expect(complaints).to.deep.equal([]);
  });
});
