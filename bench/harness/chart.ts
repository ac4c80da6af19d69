import type { Series } from "./bench.ts";
import { at, COLOURS, drawing, escapeText, niceTicks, text, WIDTH } from "./svg.ts";

/** The title of a chart, and its axes. */
export interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** A caption in small print. */
  readonly caption: string;
}

const HEIGHT = 420;
const BOX = { left: 84, right: 170, top: 48, bottom: 76 } as const;

/** Draws curves as an SVG: x by powers of ten, y from zero. */
export function drawChart(series: readonly Series[], options: ChartOptions): string {
  const points = series.flatMap((one) => one.points);
  const xs = points.map((p) => Math.log10(p.x));
  const [xMin, xMax] = [Math.min(...xs), Math.max(...xs)];
  const ticks = niceTicks(Math.max(...points.map((p) => p.y)));
  const yMax = ticks.at(-1) ?? 1;
  const x = (value: number) =>
    BOX.left + ((Math.log10(value) - xMin) / (xMax - xMin || 1)) * (WIDTH - BOX.left - BOX.right);
  const y = (value: number) => HEIGHT - BOX.bottom - (value / yMax) * (HEIGHT - BOX.top - BOX.bottom);
  const right = WIDTH - BOX.right;
  const bottom = HEIGHT - BOX.bottom;

  const grid = ticks.map(
    (tick) =>
      `<line x1="${BOX.left}" x2="${right}" y1="${at(y(tick))}" y2="${at(y(tick))}" class="grid"/>` +
      text(BOX.left - 8, y(tick) + 4, tick.toLocaleString("en"), "end"),
  );
  const columns = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
  const labels = columns.map((value) => text(x(value), bottom + 20, value.toLocaleString("en"), "middle"));
  const curves = series.map((one, i) => {
    const colour = COLOURS[i % COLOURS.length] ?? COLOURS[0];
    const path = one.points.map((p, n) => `${n === 0 ? "M" : "L"}${at(x(p.x))} ${at(y(p.y))}`).join(" ");
    const last = one.points.at(-1) ?? { x: 1, y: 0 };
    return [
      `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...one.points.map((p) => mark(i, x(p.x), y(p.y), colour)),
      `<text x="${at(right + 12)}" y="${at(y(last.y) + 4)}" fill="${colour}">${escapeText(one.name)}</text>`,
    ].join("\n");
  });
  return drawing({ ...options, height: HEIGHT, left: BOX.left }, [
    ...grid,
    ...labels,
    text((BOX.left + right) / 2, bottom + 40, options.xLabel, "middle"),
    `<text transform="translate(18 ${at((BOX.top + bottom) / 2)}) rotate(-90)" text-anchor="middle">${escapeText(options.yLabel)}</text>`,
    ...curves,
  ]);
}

function mark(kind: number, x: number, y: number, colour: string): string {
  const r = 4;
  if (kind % 3 === 0) return `<circle cx="${at(x)}" cy="${at(y)}" r="${r}" fill="${colour}"/>`;
  if (kind % 3 === 1)
    return `<rect x="${at(x - r)}" y="${at(y - r)}" width="${2 * r}" height="${2 * r}" fill="${colour}"/>`;
  return `<path d="M${at(x)} ${at(y - r - 1)}l${r + 1} ${2 * r + 1}h-${2 * r + 2}z" fill="${colour}"/>`;
}
