import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { stringify } from "yaml";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";

/** A firing alert. */
interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>;
}

/** A real Prometheus that scrapes the given servers every second. */
export interface Prometheus {
  firing(): Promise<readonly FiringAlert[]>;
  /** The values of an expression. */
  query(expr: string): Promise<readonly number[]>;
  stop(): Promise<void>;
}

const alive = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

/**
 * Starts a Prometheus with these rules.
 * @param jobs the URLs of the servers of each job
 * @returns when it has scraped each of them once
 */
export async function startPrometheus(
  program: string,
  rules: unknown,
  jobs: Readonly<Record<string, readonly string[]>>,
): Promise<Prometheus> {
  const dir = mkdtempSync(path.join(tmpdir(), "paihao-prometheus-"));
  const port = await reservePort();
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: ["rules.yaml"],
    scrape_configs: Object.entries(jobs).map(([job, urls]) => ({
      job_name: job,
      static_configs: [{ targets: urls.map((url) => new URL(url).host) }],
    })),
  };
  writeFileSync(path.join(dir, "rules.yaml"), stringify(rules));
  writeFileSync(path.join(dir, "prometheus.yaml"), stringify(config));
  const files = [`--config.file=${path.join(dir, "prometheus.yaml")}`, `--storage.tsdb.path=${path.join(dir, "data")}`];
  const child = spawn(program, [...files, `--web.listen-address=127.0.0.1:${port}`, "--log.level=warn"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  alive.add(child);
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const gone = once(child, "exit").then(() => alive.delete(child));
  const ask = async <T>(what: string): Promise<T> => {
    if (!alive.has(child)) throw new Error(`Prometheus has ended: ${said}`);
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${what}`);
    return ((await answer.json()) as { data: T }).data;
  };
  const prometheus: Prometheus = {
    async firing() {
      const { alerts } = await ask<{ alerts: (FiringAlert & { state: string })[] }>("alerts");
      return alerts.filter(({ state }) => state === "firing");
    },
    async query(expr) {
      const { result } = await ask<{ result: { value: [number, string] }[] }>(
        `query?query=${encodeURIComponent(expr)}`,
      );
      return result.map(({ value }) => Number(value[1]));
    },
    async stop() {
      if (alive.has(child)) child.kill("SIGKILL");
      await gone;
      rmSync(dir, { recursive: true, force: true });
    },
  };
  const targets = Object.values(jobs).flat().length;
  try {
    await eventually(async () => (await prometheus.query("up == 1")).length === targets);
  } catch (error) {
    await prometheus.stop();
    throw error;
  }
  return prometheus;
}
