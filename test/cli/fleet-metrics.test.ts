import { expect } from "chai";
import { FleetMetrics, type MemberMetrics } from "../../src/cli/fleet-metrics.ts";
import { Metrics } from "../../src/metrics.ts";

/** A process of a fleet. */
class Member implements MemberMetrics {
  readonly name: string;
  readonly own = new Metrics("1.2.3");
  metrics: MemberMetrics["metrics"] = [];
  isSilent = false;

  constructor(name: string) {
    this.name = name;
  }

  async readMetrics(): Promise<void> {
    if (this.isSilent) await new Promise(() => undefined);
    this.metrics = await this.own.read();
  }
}

const show = ({ own }: Member, { ready = true, waiting = 7 } = {}) => {
  const figures = { scheduled: 0, running: 0, dead: 0, workers: 1, slots: 4, paused: false };
  const queue = {
    queue: "plain",
    waiting,
    ...figures,
    oldestWaitingMs: null,
    lateMs: null,
    breakerOpen: null,
    slotsWanted: null,
    orphaned: false,
  };
  own.show({ ready, writable: true, queues: [queue], nodes: [] });
};

describe("the metrics of a fleet", () => {
  let api: Member;
  let worker: Member;
  let fleet: FleetMetrics;
  beforeEach(() => {
    api = new Member("api-1");
    worker = new Member("worker");
    fleet = new FleetMetrics(["api-1", "worker"], 20);
  });
  const scrape = async () => (await fleet.exposition([api, worker])).split("\n");

  it("are the sums of its processes' counters, and for gauges the value for all", async () => {
    api.own.submissions.count("plain", "new", 3);
    worker.own.submissions.count("plain", "new", 2);
    api.own.requests.observe(20, "GET", "/", "200");
    worker.own.requests.observe(20, "GET", "/", "200");
    worker.own.countOverdue("plain", 1);
    show(api);
    show(worker, { ready: false });
    const lines = await scrape();
    expect(lines).to.include.members([
      "# TYPE paihao_submissions_total counter",
      'paihao_submissions_total{queue="plain",verdict="new"} 5',
      'paihao_http_request_duration_seconds_bucket{le="0.025",method="GET",route="/",status="200"} 2',
      'paihao_http_request_duration_seconds_count{method="GET",route="/",status="200"} 2',
      'paihao_queue_tasks{queue="plain",state="waiting"} 7',
      'paihao_handlers_overdue{queue="plain"} 1',
      "paihao_ready 0",
      "paihao_store_up 1",
      'paihao_build_info{version="1.2.3"} 1',
      'paihao_fleet_unanswered_total{member="worker"} 0',
    ]);
  });

  it("have the last counters of a process that does not report in time, without its gauges, and say so", async () => {
    worker.own.submissions.count("plain", "new", 2);
    show(worker, { waiting: 100 });
    await scrape();
    worker.isSilent = true;
    show(api, { waiting: 5 });
    const lines = await scrape();
    expect(lines).to.include.members([
      'paihao_submissions_total{queue="plain",verdict="new"} 2',
      'paihao_queue_tasks{queue="plain",state="waiting"} 5',
      'paihao_fleet_unanswered_total{member="api-1"} 0',
      'paihao_fleet_unanswered_total{member="worker"} 1',
    ]);
  });

  it("do not fall when processes end", async () => {
    for (const count of [2, 3]) {
      worker.own.submissions.count("plain", "new", count);
      worker.own.attempts.observe(1, "plain", "result");
      await scrape();
      fleet.keep(worker.metrics);
      worker = new Member("worker");
    }
    worker.own.submissions.count("plain", "new", 4);
    expect(await scrape()).to.include.members([
      'paihao_submissions_total{queue="plain",verdict="new"} 9',
      'paihao_attempt_duration_seconds_count{queue="plain",end="result"} 2',
    ]);
  });
});
