import type { CpuUse } from "./bench.ts";
import { at, COLOURS, drawing, niceTicks, text, WIDTH } from "./svg.ts";

const BOX = { left: 210, right: 60, top: 76, bottom: 40 } as const;
const BAR = 16;
const GAP = 18;
const [PROCESS, REDIS] = COLOURS;

/** Draws µs of CPU as bars, the process and Redis end to end, those for the same work below each other. */
export function drawBars(
  uses: readonly CpuUse[],
  options: { readonly title: string; readonly caption: string },
): string {
  const ticks = niceTicks(Math.max(...uses.map((use) => use.process + use.redis)));
  const x = (micros: number) => BOX.left + (micros / (ticks.at(-1) ?? 1)) * (WIDTH - BOX.left - BOX.right);
  let y: number = BOX.top;
  const bars: string[] = [];
  for (const work of new Set(uses.map((use) => use.work))) {
    y += GAP;
    bars.push(`<text x="${BOX.left}" y="${at(y - 5)}" font-weight="600">${work}</text>`);
    for (const use of uses.filter((one) => one.work === work)) {
      const total = use.process + use.redis;
      bars.push(
        text(BOX.left - 8, y + 12, use.name, "end"),
        bar(x(0), y, x(use.process), PROCESS),
        bar(x(use.process), y, x(total), REDIS),
        text(x(total) + 6, y + 12, total.toFixed(0), "start"),
      );
      y += BAR + 3;
    }
    y += 4;
  }
  const legend = [
    ["process", PROCESS],
    ["Redis", REDIS],
  ] as const;
  return drawing({ ...options, height: y + BOX.bottom + 16, left: 24 }, [
    ...legend.flatMap(([name, colour], n) => {
      const left = BOX.left + n * 110;
      return [bar(left, 42, left + 14, colour, 12), text(left + 20, 53, name, "start")];
    }),
    ...ticks.map(
      (tick) =>
        `<line x1="${at(x(tick))}" x2="${at(x(tick))}" y1="${BOX.top}" y2="${at(y)}" class="grid"/>` +
        text(x(tick), y + 18, `${tick.toLocaleString("en")} µs`, "middle"),
    ),
    ...bars,
  ]);
}

function bar(left: number, top: number, right: number, colour: string, height: number = BAR): string {
  return `<rect x="${at(left)}" y="${at(top)}" width="${at(right - left)}" height="${height}" fill="${colour}"/>`;
}
