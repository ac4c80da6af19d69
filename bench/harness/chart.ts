import type { Series } from "./bench.ts";

/** What a chart is called, and how its axes run. */
export interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** A line of small print below. */
  readonly caption: string;
}

const WIDTH = 760;
const HEIGHT = 420;
const BOX = { left: 84, right: 170, top: 48, bottom: 76 } as const;
/** Told apart by those who see colours differently as well (Okabe and Ito), and by the shape of their marks. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"] as const;

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
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeText(options.title)}">`,
    "<style>text{font:13px system-ui,sans-serif;fill:#333}.title{font-weight:600;font-size:15px}.small{font-size:10.5px;fill:#666}.grid{stroke:#ddd}</style>",
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${BOX.left}" y="26" class="title">${escapeText(options.title)}</text>`,
    ...grid,
    ...labels,
    text((BOX.left + right) / 2, bottom + 40, options.xLabel, "middle"),
    `<text transform="translate(18 ${at((BOX.top + bottom) / 2)}) rotate(-90)" text-anchor="middle">${escapeText(options.yLabel)}</text>`,
    ...curves,
    `<text x="${BOX.left}" y="${HEIGHT - 10}" class="small">${escapeText(options.caption)}</text>`,
    "</svg>",
    "",
  ].join("\n");
}

/** Steps of 1, 2 or 5 times a power of ten, from zero to above the largest value. */
function niceTicks(largest: number): number[] {
  const rough = largest / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.ceil(largest / step) + 1 }, (_, n) => n * step);
}

function mark(kind: number, x: number, y: number, colour: string): string {
  const r = 4;
  if (kind % 3 === 0) return `<circle cx="${at(x)}" cy="${at(y)}" r="${r}" fill="${colour}"/>`;
  if (kind % 3 === 1)
    return `<rect x="${at(x - r)}" y="${at(y - r)}" width="${2 * r}" height="${2 * r}" fill="${colour}"/>`;
  return `<path d="M${at(x)} ${at(y - r - 1)}l${r + 1} ${2 * r + 1}h-${2 * r + 2}z" fill="${colour}"/>`;
}

function text(x: number, y: number, value: string, anchor: "middle" | "end"): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${escapeText(value)}</text>`;
}

const at = (value: number): string => value.toFixed(1);

function escapeText(value: string): string {
  return value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
}
