import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { LongestBlock } from "../../src/metrics/kinds.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { openEngine } from "../helpers/engine.ts";
import { startServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

/** The words of a label, as the guide lists them: `waiting` (a loss: back in line) … */
function wordsOf(metric: string): string[] {
  const guide = readFileSync(path.join(ROOT, "docs/operations.md"), "utf8");
  const [, text = ""] = new RegExp(`^\\| \`${metric}\` \\| \\w+ \\| .*? \\| (.*) \\|$`, "m").exec(guide) ?? [];
  return [...text.replaceAll(/\(.*?\)/g, "").matchAll(/`([\w-]+)`/g)].map(([, word = ""]) => word);
}

/** The words of a label that alerts name, as in `verdict=~"full|internal"`. */
function alertedWords(metric: string, label: string): string[] {
  const alerts = readFileSync(path.join(ROOT, "deploy/prometheus/alerts.yaml"), "utf8");
  const matchers = alerts.matchAll(new RegExp(`${metric}\\{${label}=~?"(.*?)"`, "g"));
  return [...matchers].flatMap(([, words = ""]) => words.split("|"));
}

describe("counters of a fresh process", () => {
  it("are at 0, of each queue and each word that alerts count", async () => {
    const server = await startServer();
    try {
      const { text } = await server.send("/metrics");
      for (const queue of ["default", "gated", "paihao.webhooks", "paihao.undo"]) {
        const labels = { submissions: "verdict", attempts: "ending", lost_tasks: "outcome", estimates: "start" };
        for (const [name, label] of Object.entries(labels)) {
          const shown = text.matchAll(
            new RegExp(`^paihao_${name}_total\\{queue="${queue}",${label}="(.*?)"\\} 0$`, "gm"),
          );
          const words = [...shown].map(([, word = ""]) => word);
          const metric = `paihao_${name}_total`;
          expect(words.length, metric).to.be.above(2);
          expect(words, metric).to.include.members(alertedWords(metric, label));
          expect(wordsOf(metric)).to.include.members(words);
        }
      }
      for (const end of ["result", "error", "shutdown"])
        expect(text).to.include(`paihao_attempt_duration_seconds_count{queue="paihao.webhooks",end="${end}"} 0\n`);
      expect(text).to.match(/^paihao_http_responses_total\{status="5xx"\} 0$/m);
    } finally {
      await server.stop();
    }
  });

  it("are at 0 before a task of a queue of other processes can be found lost", async () => {
    const other = await openEngine();
    const engine = await openEngine({ prefix: other.keys.prefix, queues: [] });
    try {
      await other.engine.upkeep.tick(0);
      await engine.engine.upkeep.tick(0);
      const shown = await engine.engine.metrics.exposition();
      expect(shown).to.match(/^paihao_lost_tasks_total\{queue="jobs",outcome="dead"\} 0$/m);
    } finally {
      await engine.close();
      await other.close();
    }
  });
});

describe("the metrics of three thousand queues", () => {
  const QUEUES = Array.from({ length: 3000 }, (_, n) => `queue-${n}`);
  const cpuMs = () => process.cpuUsage().user / 1000;

  it("are made in portions, and take less than 30 lines a queue", async () => {
    const metrics = new Metrics();
    for (const queue of QUEUES) metrics.begin(queue);
    const figures = {
      waiting: 0,
      scheduled: 0,
      running: 0,
      dead: 0,
      workers: 1,
      slots: 1,
      slotsWanted: null,
      resting: null,
    };
    const states = { paused: false, orphaned: false, oldestWaitingMs: null, lateMs: null };
    const queues = QUEUES.map((queue) => ({ queue, ...figures, ...states }));
    metrics.gauges.readWith(async () => ({ ready: true, writable: true, nodes: [], queues, incidents: [] }));
    let lines = 0;
    let longestMs = Number.POSITIVE_INFINITY;
    // Of several times the best: the first runs code that is not optimized.
    for (let n = 0; n < 5; n += 1) {
      let [last, worst, ended] = [cpuMs(), 0, false];
      const look = () => {
        worst = Math.max(worst, cpuMs() - last);
        last = cpuMs();
        if (!ended) setImmediate(look);
      };
      setImmediate(look);
      lines = (await metrics.exposition()).split("\n").length;
      ended = true;
      await new Promise(setImmediate);
      longestMs = Math.min(longestMs, worst);
    }
    expect(lines / QUEUES.length).to.be.below(30);
    // 130 ms where each metric is made in one go.
    expect(longestMs).to.be.below(65);
  });
});

describe("answers", () => {
  it("are counted by the class of their status; probes and scrapes are not", async () => {
    const server = await startServer();
    try {
      for (const at of ["/readyz", "/healthz", "/metrics", "/v1/queues", "/nowhere"]) await server.send(at);
      const { text } = await server.send("/metrics");
      expect(text).to.match(/^paihao_http_responses_total\{status="2xx"\} 1$/m);
      expect(text).to.match(/^paihao_http_responses_total\{status="4xx"\} 1$/m);
    } finally {
      await server.stop();
    }
  });
});

describe("the longest block of the event loop", () => {
  it("is told to everybody who asks, not only to the first", async () => {
    const block = new LongestBlock();
    // It has begun to measure.
    await eventually(() => block.ms > 0);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    await eventually(() => expect(block.ms).to.be.at.least(600));
    expect(block.ms).to.be.at.least(600);
  });
});
