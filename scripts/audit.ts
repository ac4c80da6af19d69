/**
 * `npm run check:audit`: asks the registry for known vulnerabilities. High and critical ones of packages that users run fail; others are
 * listed. If the registry has no answer, it says so and goes on. The last line is `N passed, N failed, N skipped`.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../test/shared/root.ts";
import { sbom } from "./runtime-packages.ts";
import { NONE, type Totals, totalsLine } from "./totals.ts";

/** What `npm audit --json` prints. */
interface Report {
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
  readonly message?: string;
  readonly error?: { readonly summary?: string };
}

interface Vulnerability {
  readonly name: string;
  readonly severity: string;
  readonly range: string;
  /** Where the package is installed. */
  readonly nodes: readonly string[];
  /** An advisory, or the name of the dependency that has one. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[];
}

/** By where a package is installed. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

const FAILING: readonly string[] = ["high", "critical"];

function audit(): Totals {
  const { stdout, stderr } = spawnSync("npm", ["audit", "--json", "--loglevel", "warn"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const report = JSON.parse(stdout || "{}") as Report;
  if (report.vulnerabilities === undefined) {
    const reason = /npm warn audit (.+)/.exec(stderr)?.[1] ?? report.message ?? report.error?.summary ?? "no answer";
    console.log(`▸ going on without an audit of packages: ${reason}`);
    return { ...NONE, skipped: 1 };
  }
  const refs = new Set(sbom(ROOT).components.map((component) => component["bom-ref"]));
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as Lock;
  let failed = 0;
  for (const { name, severity, range, nodes, via } of Object.values(report.vulnerabilities)) {
    const isRun = nodes.some((path) => refs.has(`${name}@${packages[path]?.version}`));
    const fails = isRun && FAILING.includes(severity);
    if (fails) failed += 1;
    const why = via.map((each) => (typeof each === "string" ? `by ${each}` : `${each.title} ${each.url}`)).join("; ");
    console.log(`${fails ? "✘" : "▸"} ${name} ${range}: ${severity}${isRun ? "" : ", development only"}: ${why}`);
  }
  return failed > 0 ? { ...NONE, failed } : { ...NONE, passed: 1 };
}

const totals = audit();
console.log(totalsLine(totals));
process.exitCode = totals.failed > 0 ? 1 : 0;
