import { expect } from "chai";
import { readDefinition, taskIdOf } from "../../../src/extras/schedules/definition.ts";
import { DueTimes, dueNow, type Position } from "../../../src/extras/schedules/due-times.ts";

const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 10, 26, 12);
const at = (...hours: number[]) => hours.map((hour) => Date.UTC(2026, 10, 26, hour));

describe("what is submitted of a schedule", () => {
  const hourly = new DueTimes({ cron: "@hourly", timeZone: "UTC" }, 0);
  const usual: Position = { afterMs: NOON - 4 * HOUR_MS, retry: null, goneMs: 0, nowMs: NOON + 90_000 };

  for (const [missed, due, leftOut, missedMs] of [
    ["once", at(12), null, at(9, 10, 11)],
    ["skip", [], at(12)[0], at(9, 10, 11, 12)],
    ["all", at(9, 10, 11, 12), null, []],
  ] as const) {
    it(`of what fell due more than a minute ago: ${missed}`, () => {
      expect(dueNow(hourly, missed, usual)).to.deep.equal({ due, leftOutMs: leftOut, missedMs, nextMs: at(13)[0] });
    });
  }

  it("counts what fell due while no process lived as missed, however short that was", () => {
    const restarted = { ...usual, nowMs: NOON + 20_000, goneMs: NOON + 19_000 };
    expect(dueNow(hourly, "skip", restarted)).to.deep.include({ due: [], leftOutMs: NOON });
    expect(dueNow(hourly, "skip", { ...restarted, goneMs: NOON - 1 })).to.deep.include({
      due: [NOON],
      leftOutMs: at(11)[0],
    });
  });

  it("submits each that has just fallen due, and of a longer time at most 1,000", () => {
    const secondly = new DueTimes({ every: "1s", timeZone: "UTC" }, NOON);
    const nowMs = NOON + 2_000_000;
    expect(dueNow(secondly, "once", { ...usual, afterMs: nowMs - 3000, nowMs }).due).to.have.length(3);
    const { due } = dueNow(secondly, "all", { ...usual, afterMs: NOON, nowMs });
    expect([due.length, due[0], due.at(-1)]).to.deep.equal([1060, nowMs - 1_059_000, nowMs]);
    expect(
      dueNow(new DueTimes({ cron: "* * * * * *", timeZone: "UTC" }, 0), "all", { ...usual, afterMs: NOON, nowMs }).due,
    ).to.eql(due);
  });

  it("tries what was refused for the moment until the next due time, even if it counts as missed by then", () => {
    const retry = { atMs: NOON, untilMs: NOON + HOUR_MS };
    const late = { ...usual, retry, nowMs: NOON + HOUR_MS - 1 };
    expect(dueNow(hourly, "skip", late)).to.deep.include({ due: [NOON], leftOutMs: null });
    expect(dueNow(hourly, "all", { ...late, nowMs: NOON + HOUR_MS })).to.deep.include({ due: at(13), leftOutMs: null });
  });

  it("submits nothing twice when the clock is set back", () => {
    const back = { ...usual, afterMs: NOON, nowMs: NOON - 2 * HOUR_MS };
    expect(dueNow(hourly, "all", back)).to.deep.equal({ due: [], leftOutMs: null, missedMs: [], nextMs: at(13)[0] });
  });
});

describe("what can be a schedule", () => {
  const valid = { queue: "jobs", input: { a: [1] }, cron: "0 3 * * *" };

  it("fills in defaults, and has the same text in whatever order it was sent", () => {
    const read = readDefinition(valid);
    expect(read).to.deep.equal({ ...valid, timeZone: "UTC", missed: "once", overlap: "queue" });
    const turned = Object.fromEntries(Object.entries(valid).reverse());
    expect(JSON.stringify(readDefinition(turned))).to.equal(JSON.stringify(read));
  });

  it("names the task of a due time by the schedule and the second", () => {
    expect(taskIdOf("nightly", Date.UTC(2026, 10, 26, 3))).to.equal("nightly~20261126T030000Z");
  });

  for (const cron of ["@daily", "0 0 12 * * *", "0 0 L * *", "0 0 * * MON#2", "0 0 29 2 *"]) {
    it(`takes the pattern ${cron}`, () => expect(readDefinition({ ...valid, cron }).cron).to.equal(cron));
  }

  for (const [member, value] of [
    ...["* * * * * * *", "0 0 30 2 *", "61 * * * *", "@reboot", "2026-01-01T00:00:00", "", 5, null].map((cron) => [
      "cron",
      cron,
    ]),
    ...["1500ms", "0s", "5 fortnights", 60].map((every) => ["every", every]),
    ...[
      ["timeZone", "Mars/Phobos"],
      ["startAt", "2026-02-30T00:00:00Z"],
      ["endAt", 5],
      ["missed", "never"],
      ["overlap", true],
    ],
    ...[
      ["priority", 8],
      ["deadline", 0],
      ["label", "a\u0000b"],
      ["timezone", "UTC"],
      ["input", undefined],
      ["queue", undefined],
    ],
  ] as [string, unknown][]) {
    it(`refuses ${member} ${JSON.stringify(value)}, and names it`, () => {
      const { cron: _, ...rest } = valid;
      const given = { ...(member === "every" ? rest : valid), [member]: value };
      expect(() => readDefinition(given))
        .to.throw(`${member}: `)
        .with.property("code", "invalid-parameter");
    });
  }

  it("is due either by a pattern or by an interval", () => {
    expect(() => readDefinition({ ...valid, every: "1m" })).to.throw("every: ");
    expect(() => readDefinition({ ...valid, cron: undefined })).to.throw("cron: ");
  });
});
