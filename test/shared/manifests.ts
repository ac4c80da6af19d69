import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { deployTool } from "./deploy-tools.ts";
import { ROOT } from "./root.ts";

const CHART = join(ROOT, "deploy/helm/paihao");
/** The files below deploy/kubernetes, each with its template and the values that it takes. */
const FILES: Readonly<Record<string, { readonly template: string; readonly values?: string }>> = {
  "api.yaml": { template: "api.yaml" },
  "config.yaml": { template: "config.yaml" },
  "keda/scaled-object.yaml": { template: "keda.yaml", values: "keda.enabled=true" },
  "redis.yaml": { template: "redis.yaml" },
  "worker.yaml": { template: "worker.yaml" },
};
const NOTE =
  "# Made from the chart in deploy/helm/paihao by npm run deploy:manifests: change that, or patch this with kustomize.\n";

/** What `helm template` makes of the chart. */
export function rendered(...args: readonly string[]): string {
  return execFileSync(deployTool("helm") ?? "helm", ["template", "paihao", CHART, ...args], {
    encoding: "utf8",
    // Its complaint is in the error.
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** The manifests without Helm, by file. */
export function manifests(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(FILES).map(([file, { template, values }]) => {
      const text = rendered("--show-only", `templates/${template}`, ...(values === undefined ? [] : ["--set", values]));
      return [file, NOTE + text.replaceAll(/^# Source: .*\n/gm, "")];
    }),
  );
}
