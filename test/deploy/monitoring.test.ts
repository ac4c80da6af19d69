import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { parse, stringify } from "yaml";
import { startServer } from "../helpers/http/server.ts";
import { programOnPath } from "../shared/programs.ts";
import { ROOT } from "../shared/root.ts";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

const FOLDER = path.join(ROOT, "deploy/prometheus");
const read = (file: string) => readFileSync(path.join(ROOT, "deploy", file), "utf8");
const { groups } = parse(read("prometheus/alerts.yaml")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read("grafana/dashboard.json"));
const panels = dashboard.panels as readonly Panel[];
const charts = panels.filter(({ type }) => type !== "row");
/** As Grafana sends them. */
const shown = charts
  .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  .map((expr) => expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(?:queue|job)/g, ".*"));
const expressions = [...rules.map(({ expr }) => expr), ...shown];

const promtool = programOnPath("promtool");
const withPromtool = promtool === undefined ? it.skip : it;
const runPromtool = (...args: string[]) => spawnSync(promtool ?? "", args, { cwd: FOLDER, encoding: "utf8" });
const accepted = (...args: string[]) => {
  const { status, stdout, stderr } = runPromtool(...args);
  expect(status, `${stdout}${stderr}`).to.equal(0);
};

describe(`deploy/prometheus${promtool === undefined ? " (promtool is in Debian's package prometheus)" : ""}`, () => {
  withPromtool("has alerts that promtool accepts", () => accepted("check", "rules", "--lint-fatal", "alerts.yaml"));

  withPromtool("has alerts that fire when they must, and only then", () =>
    accepted("test", "rules", "alerts.test.yaml"),
  );

  it("gives each alert a severity, a description and a link to the runbook", () => {
    expect(rules).to.have.length.above(13);
    for (const { alert, labels, annotations } of rules) {
      expect(labels.severity, alert).to.match(/^(?:critical|warning)$/);
      expect(annotations, alert).to.have.all.keys("summary", "description", "runbook_url");
    }
  });
});

describe("deploy/grafana/dashboard.json", () => {
  it("asks the data source that its viewer chooses", () => {
    const [source, ...others] = dashboard.templating.list;
    expect(source).to.include({ name: "datasource", type: "datasource", query: "prometheus" });
    const asked = [
      ...charts,
      ...charts.flatMap(({ targets = [] }) => targets),
      ...others,
      ...dashboard.annotations.list,
    ];
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own form
    for (const { datasource } of asked) expect(datasource?.uid).to.equal("${datasource}");
  });

  withPromtool("has only expressions that promtool accepts", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "paihao-dashboard-"));
    const file = path.join(folder, "rules.yaml");
    const records = shown.map((expr, n) => ({ record: `dashboard:expression_${n}`, expr }));
    writeFileSync(file, stringify({ groups: [{ name: "dashboard", rules: records }] }));
    accepted("check", "rules", file);
    rmSync(folder, { recursive: true });
  });
});

describe("the metrics that alerts and dashboard name", () => {
  /** Each metric with the labels that are matched, or aggregated by, where it is used. */
  const used = expressions.flatMap((expr) =>
    [...expr.matchAll(/\b((?:paihao|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(([, name = "", matchers = ""]) => ({
      name: name.replace(/_(?:bucket|count|sum)$/, ""),
      labels: [...matchers.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label = ""]) => label),
    })),
  );

  it("exist on a real server", async () => {
    const server = await startServer();
    try {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
      expect(names).to.include.members([...new Set(used.map(({ name }) => name))]);
    } finally {
      await server.stop();
    }
  });

  it("have the labels that docs/operations.md names, and those that Prometheus adds", () => {
    const rows = readFileSync(path.join(ROOT, "docs/operations.md"), "utf8").matchAll(
      /^\| `(paihao_\w+)` \| \w+ \| (.*?) \|/gm,
    );
    const known = new Map([...rows].map(([, name = "", labels = ""]) => [name, labels]));
    for (const { name, labels } of used.filter((one) => one.name.startsWith("paihao_"))) {
      for (const label of labels.filter((one) => one !== "job"))
        expect(known.get(name), name).to.include(`\`${label}\``);
    }
  });
});
