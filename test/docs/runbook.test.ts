import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { ROOT } from "../shared/root.ts";
import { readGuide } from "./guide.ts";

const ALERTS = join(ROOT, "deploy/prometheus/alerts.yaml");

interface Rule {
  readonly alert?: string;
  readonly annotations?: { readonly runbook_url?: string };
}

describe("docs/runbook.md", () => {
  const entries = [...readGuide("runbook.md").matchAll(/^## (\w+)\n(.*?)(?=^## |$(?![\s\S]))/gms)];

  it("says in each entry what it means, how to see it and what to do", () => {
    expect(entries).to.have.length.above(10);
    for (const [, name, text] of entries)
      for (const part of ["**Means.**", "**See.**", "**Do.**"]) expect(text, name).to.include(part);
  });

  it("has an entry for each alert rule, linked from it, and none of a rule that does not exist", function () {
    if (!existsSync(ALERTS)) this.skip();
    const { groups } = parse(readFileSync(ALERTS, "utf8")) as { groups: { rules: Rule[] }[] };
    const rules = groups.flatMap((group) => group.rules).filter(({ alert }) => alert !== undefined);
    // Others are about what a person sees without an alert.
    const named = entries.map(([, name = ""]) => name).filter((name) => name.startsWith("Paihao"));
    expect(named).to.have.members([...new Set(rules.map(({ alert }) => alert))]);
    for (const { alert = "", annotations } of rules)
      expect(annotations?.runbook_url, alert).to.match(new RegExp(`runbook(?:\\.md)?#${alert.toLowerCase()}$`));
  });
});
