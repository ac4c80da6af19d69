import { expect } from "chai";
import { COLUMNS } from "../../src/cli/commands/ls.ts";
import { QUEUE_COLUMNS } from "../../src/cli/commands/queues.ts";
import { topLines } from "../../src/cli/commands/top.ts";
import { cut, padded, tableLines, widthOf } from "../../src/cli/terminal/table.ts";
import type { Incident } from "../../src/wire/operations.ts";
import type { Queue } from "../../src/wire/queue.ts";

const queue = (name: string, more: Partial<Queue> = {}): Queue => ({
  ...{ name, own: false, orphaned: false, paused: false, waiting: 12, scheduled: 3, held: null, running: 4, dead: 0 },
  maxWaiting: 100,
  ...{ workers: 1, slots: 8 },
  ...{
    oldestWaitingSeconds: 1,
    serviceTime: { mean: 7500, samples: 9 },
    rate: { accepted: 1, finished: 0.25, failed: 0 },
  },
  eta: { seconds: 7500, low: 1, high: 2, basis: "history", samples: 9 },
  ...{
    order: "arrival",
    description: null,
    limit: null,
    resting: null,
    slotsWanted: null,
    settings: {
      concurrency: { declared: 8, now: 8 },
      total: { declared: null, now: null },
      rate: { declared: null, now: null },
    },
    turns: null,
    consumes: [],
    input: null,
    actions: [],
    ...more,
  },
});

const incident = (name: string): Incident => ({
  ...{ kind: "dead", level: "red", queue: name, text: `${name}: something is wrong`, list: "dead" },
  ...{ advice: "Look at it.", runbook: "PaihaoDeadTasks", since: "2026-11-22T12:00:00Z" },
});

describe("on a narrow terminal", () => {
  it("wide characters count as two columns, and none is cut in half", () => {
    expect(["abc", "世界", "é", "👩‍👩‍👧", "…"].map(widthOf)).to.deep.equal([3, 4, 1, 2, 1]);
    expect(padded("世", 4) + padded("世", 4, true)).to.equal("世    世");
    expect([cut("世界你好", 8), cut("世界你好", 7), cut("世界你好", 6), cut("世界你好", 1)]).to.deep.equal([
      ...["世界你好", "世界你…", "世界…", "…"],
    ]);
    expect(cut("0123456789abcdef", 9, "middle")).to.equal("0123…cdef");
    expect(cut("世界你好世界", 8, "middle")).to.satisfy((text: string) => widthOf(text) <= 8 && /^世.*…界$/.test(text));
  });

  it("a table of queues keeps name, state and counts at 40 columns, and everything at 80", () => {
    const rows = [
      queue("thumbnails-of-all-customers", { paused: true }),
      queue("图像缩略图生成队列任务"),
      queue("a", { dead: 17 }),
    ];
    for (const width of [40, 80])
      for (const line of tableLines(QUEUE_COLUMNS, rows, width)) expect(widthOf(line)).to.be.most(width);
    const [narrow = "", first = ""] = tableLines(QUEUE_COLUMNS, rows, 40);
    expect(narrow.split(/ +/)).to.deep.equal(["QUEUE", "STATE", "WAIT", "RUN", "DEAD"]);
    expect(first).to.match(/^thum\S*…\S*ers +paused +12 +4 +0$/);
    const [wide = "", wideFirst = ""] = tableLines(QUEUE_COLUMNS, rows, 80);
    expect(wide.split(/ +/)).to.deep.equal([
      ...["QUEUE", "STATE", "WAIT", "RUN", "SCHED", "DEAD", "FAIL/S", "DONE/S", "TAKES", "STARTS"],
    ]);
    expect(wideFirst).to.match(/^thumb\S*…\S*ers +paused +12 +4 +3 +0 +0 +0.25 +2 h 5 min +2 h 5 min$/);
    const [widest = ""] = tableLines(QUEUE_COLUMNS, rows.slice(1), 200);
    expect(widest, "a state that no queue has is left out").to.match(/^QUEUE +WAITING +RUNNING .*NEW STARTS IN$/);
  });

  it("dead tasks keep their ids, cut in the middle only at 40 columns, and what was thrown last", () => {
    const task = {
      ...{ id: "2e9961d754ddf1f38e63d53dc27f0837", finishedAt: new Date(Date.now() - 7_500_000).toISOString() },
      ...{ attempt: 3, maxAttempts: 3, error: { code: "task-failed", message: "The handler failed." } },
      errors: ["世界 cannot be read from the disk of the machine", "earlier"],
    };
    const at = (width: number) => tableLines(COLUMNS.dead, [task as never], width);
    const [narrow = "", row = ""] = at(40);
    expect(narrow).to.match(/^ID +ENDED +ERROR$/);
    expect(row).to.match(/^2e99\S*…\S*0837 +2 h 5 min ago +世界 cannot/);
    const [wide = "", wideRow = ""] = at(80);
    expect(wide).to.match(/^ID +ENDED +ATTEMPT +ERROR$/);
    expect(wideRow).to.match(/^2e9961d754ddf1f38e63d53dc27f0837 +2 h 5 min ago +3 of 3 +世界 cannot/);
    const long = { ...task, id: "a".repeat(64) };
    expect(tableLines(COLUMNS.dead, [long as never], 80)[1], "rather than when it ended").to.match(/^a{64} +世界 cann/);
    for (const line of [...at(40), ...at(80)]) expect(widthOf(line)).to.be.within(1, 80);
    expect(at(200)[1]).to.contain("0837  2 h 5 min ago  3 of 3   世界 cannot be read from the disk of the machine");
  });

  it("top shows the queues in trouble first, keeps its keys in the last line, and scrolls to the last queue", () => {
    const items = [
      ...Array.from({ length: 30 }, (_, n) => queue(`fine-${String(n).padStart(2, "0")}`, { waiting: 30 - n })),
      ...[queue("paused", { paused: true }), queue("dead", { dead: 1 }), queue("alone", { workers: 0 })],
    ];
    const incidents = ["dead", "alone", "paused"].map((name) => incident(name));
    const about = { url: "http://127.0.0.1:3000", time: "2026-11-22T12:00:00Z", items, incidents, problem: "" };
    const at = (offset: number, size = { columns: 40, rows: 14 }) => topLines({ ...about, offset }, size);
    const names = (lines: string[]) => lines.slice(5, -1).map((line) => line.split(" ")[0]);
    expect(at(0)).to.have.lengthOf(14);
    expect(names(at(0)).slice(0, 5)).to.deep.equal(["dead", "alone", "paused", "fine-00", "fine-01"]);
    expect(at(0).at(-1)).to.equal("q quits  ↑ ↓ scroll, 1–8 of 33");
    expect(names(at(99)).at(-1)).to.equal("fine-29");
    expect(at(99).at(-1)).to.contain("26–33 of 33");
    const [sums = "", ...health] = at(0, { columns: 120, rows: 14 });
    expect(sums).to.contain("as of ");
    expect(health[0]).to.equal("dead: something is wrong. Look at it.");
    const many = { ...about, incidents: Array.from({ length: 9 }, (_, n) => incident(`q${n}`)), offset: 0 };
    expect(topLines(many, { columns: 80, rows: 14 })[6]).to.equal("and 4 more: paihao queues");
    expect(topLines({ ...many, incidents: [] }, { columns: 80, rows: 14 })[1]).to.equal("All 33 queues move.");
    expect(at(0)[0], "the sums before the address").to.match(/^\d+ tasks waiting, \d+ running, 1 dead/);
    const tall = at(3, { columns: 80, rows: 50 });
    expect(tall).to.have.lengthOf(50);
    expect(tall.at(-1)).to.equal("q quits");
    expect(names(tall)[0]).to.equal("dead");
  });
});
