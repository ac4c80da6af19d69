import { expect } from "chai";
import { plain, plainLines } from "../../src/cli/terminal/print.ts";
import { LiveLine } from "../../src/cli/terminal/screen.ts";
import { tableLines } from "../../src/cli/terminal/table.ts";
import { startText, statusText } from "../../src/cli/terminal/task-text.ts";
import type { Status } from "../../src/client/status.ts";
import { about, allowed, duration } from "../../src/words/numbers.ts";
import { TerminalScreen } from "../helpers/terminal-screen.ts";

const eta = (seconds: number, low = seconds, high = seconds) =>
  ({ seconds, low, high, basis: "history", samples: 9 }) as const;

describe("the words of the commands", () => {
  it("give durations in the units that a person would use", () => {
    const measured = [-1, 0, 0.04, 0.35, 3.14, 9.96, 59.4, 60, 252, 3599, 3600, 7500, 273_600].map(duration);
    expect(measured).to.deep.equal([
      ...["0 s", "0 s", "40 ms", "350 ms", "3.1 s", "10 s", "59 s", "1 min", "4 min 12 s", "59 min 59 s"],
      ...["1 h", "2 h 5 min", "3 d 4 h"],
    ]);
    const estimated = [0, 0.4, 12.3, 59.4, 59.6, 60, 252, 3599, 7500, 172_800].map((seconds) => about(seconds));
    expect(estimated).to.deep.equal([
      ...["1 s", "1 s", "12 s", "59 s", "1 min", "1 min", "4 min", "1 h", "2 h 5 min", "2 days"],
    ]);
  });

  it("give an estimate with its range, unless that is narrow, and count it down", () => {
    expect(startText(null)).to.equal("no estimate yet");
    expect(startText(eta(12, 8, 20))).to.equal("starts in about 12 s (8 to 20 s)");
    expect(startText(eta(12, 11, 13))).to.equal("starts in about 12 s");
    expect(startText(eta(12, 8, 20), 10)).to.equal("starts in about 2 s (1 to 10 s)");
    expect(startText(eta(12, 8, 20), 13)).to.equal("starts any moment");
    const held = { ...eta(695, 690, 700), basis: "rate", rate: { max: 5, per: "1s" } } as const;
    expect(startText(held)).to.equal("starts in about 12 min, 5 a second allowed");
    expect(allowed({ max: 100, per: "30s" })).to.equal("100 in 30s");
    const starting = { ...eta(70, 42, 116), basis: "starting" } as const;
    expect(startText(starting)).to.equal("a worker is starting, about 70 s (42 s to 2 min)");
    expect(startText({ ...starting, low: 69, high: 71 }, 10)).to.equal("a worker is starting, about 60 s");
    expect(startText({ ...starting, seconds: 400 })).to.match(/^a worker is starting, about 7 min/);
  });

  it("have a line for each state", () => {
    const text = (status: object) => statusText({ attempt: 1, maxAttempts: 3, ...status } as Status);
    const place = { state: "waiting", index: 2, eta: eta(5), held: false };
    expect(text(place)).to.equal("waiting, place 3 in line (2 before it), starts in about 5 s");
    expect(text({ ...place, index: 0 })).to.match(/^waiting, place 1 in line \(next\), /);
    expect(text({ ...place, held: true })).to.match(/, held until another task of its key has ended$/);
    expect(text({ state: "scheduled", eta: eta(90) })).to.equal("scheduled, due in 2 min");
    expect(text({ state: "retrying", eta: eta(3) })).to.equal("attempt 1 of 3 failed, due in 3 s");
    expect(text({ state: "running" })).to.equal("running");
    expect(text({ state: "running", attempt: 2 })).to.equal("running, attempt 2 of 3");
    expect(text({ state: "running", cancelRequested: true })).to.equal("stopping");
    const times = { startedAt: "2026-11-22T12:00:00.000Z", finishedAt: "2026-11-22T12:00:02.500Z" };
    expect(text({ state: "succeeded", ...times })).to.equal("succeeded in 2.5 s");
    expect(text({ state: "failed", error: { message: "No image." } })).to.equal("failed: No image.");
  });

  it("hide what a terminal would obey, in one line or in several", () => {
    expect(plain("a\n b\u001b[2J\u009b\u202e c")).to.equal("a b\ufffd[2J\ufffd\ufffd c");
    expect(plainLines("a\n\tb\r\u0007")).to.equal("a\n\tb\ufffd\ufffd");
  });
});

describe("a table", () => {
  const columns = [
    { title: "NAME", value: (row: { name: string; n: number | null }) => row.name },
    { title: "N", value: (row: { n: number | null }) => row.n },
  ];

  it("has numbers at the right, a dash for nothing, and lines that fit", () => {
    const rows = [
      { name: "one", n: 1 },
      { name: "three hundred", n: 300 },
      { name: "", n: null },
    ];
    const lines = tableLines(columns, rows, 80);
    expect(lines.slice(1)).to.deep.equal(["one              1", "three hundred  300", "                 –"]);
    expect(tableLines(columns, rows, 10)[2]).to.equal("three hun…");
  });
});

describe("a live line", () => {
  const draw = (act: (line: LiveLine) => void): string => {
    const screen = new TerminalScreen(20, 10);
    act(new LiveLine({ write: (text: string) => screen.write(text.replaceAll(/(?<!\r)\n/g, "\r\n")) } as never));
    return screen.text;
  };

  it("is replaced by the next one, is cut at the edge, and leaves nothing behind", () => {
    expect(draw((line) => [line.show("a longer one"), line.show("short")])).to.equal("short");
    expect(draw((line) => line.show("x".repeat(50)))).to.equal("x".repeat(20));
    expect(draw((line) => [line.show("gone"), line.clear()])).to.equal("");
  });

  it("stays below what is written, and makes room for text without a line break", () => {
    expect(draw((line) => [line.show("live"), line.write("one\ntwo\n")])).to.equal("one\ntwo\nlive");
    expect(draw((line) => [line.show("live"), line.write("one "), line.show("later"), line.write("two")])).to.equal(
      "one two",
    );
    expect(draw((line) => [line.show("live"), line.write("one "), line.write("two\n")])).to.equal("one two\nlive");
    expect(draw((line) => [line.write("one"), line.clear(), line.show("next")])).to.equal("one\nnext");
  });
});
