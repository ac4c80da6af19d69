/** Charts of the last hour, drawn by uPlot. */

import { duration, roughly } from "./format.js";
import { h } from "./html.js";

/** @typedef {{ name: string, values: readonly (number | null)[], color?: "accent" | "good" | "bad" | "faint" }} Line */
/** @typedef {{ plot: import("uplot"), lines: readonly Line[], resized: ResizeObserver }} Drawn */

const HEIGHT = 120;
/** Colours of lines that mean no state, and told apart by their dashes as well. */
const COLORS = ["accent", "violet", "teal", "amber"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

/** uPlot, which the page loads before this. */
const { uPlot } = /** @type {{ uPlot: typeof import("uplot") }} */ (/** @type {unknown} */ (window));

/** @type {Map<Element, Drawn>} */
const charts = new Map();

// The colours of a canvas do not follow the style sheet by themselves.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const { plot } of charts.values()) plot.redraw(false);
});

/**
 * @param {string} key
 * @param {string} title
 * @param {readonly number[]} at unix time of each value, in seconds
 * @param {(value: number | null) => string} format
 * @param {readonly Line[]} lines
 */
export function chart(key, title, at, format, lines) {
  const told = lines.map(({ name, values }) => `${name} ${range(values, format)}`).join(", ");
  return h(
    "figure",
    { key, class: "chart" },
    h("figcaption", null, h("h2", null, title)),
    h("div", {
      // One with other lines is another chart.
      key: lines.map(({ name }) => name).join(),
      class: "plot",
      role: "img",
      "aria-label": `${title} in the last hour: ${told || "nothing yet"}`,
      own: (/** @type {HTMLElement} */ element) => draw(element, at, format, lines),
    }),
    h(
      "ul",
      { class: "legend" },
      lines.map(({ name, values }, i) =>
        h(
          "li",
          { key: name, "data-color": colorOf(lines, i) },
          name,
          h("span", { class: "value" }, format(values.at(-1) ?? null)),
        ),
      ),
    ),
  );
}

/**
 * @param {readonly (number | null)[]} values
 * @param {(value: number | null) => string} format
 */
function range(values, format) {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? "nothing yet" : `${format(Math.min(...known))} to ${format(Math.max(...known))}`;
}

/**
 * @param {readonly Line[]} lines
 * @param {number} i
 */
const colorOf = (lines, i) => lines[i]?.color ?? COLORS[i % COLORS.length] ?? "accent";

/** @param {string} name */
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/**
 * @param {HTMLElement} element
 * @param {readonly number[]} at
 * @param {(value: number | null) => string} format
 * @param {readonly Line[]} lines
 */
function draw(element, at, format, lines) {
  for (const [other, { plot, resized }] of charts) {
    if (other.isConnected) continue;
    resized.disconnect();
    plot.destroy();
    charts.delete(other);
  }
  /** @type {import("uplot").AlignedData} */
  const data = [[...at], ...lines.map(({ values }) => [...values])];
  const drawn = charts.get(element);
  if (drawn) {
    drawn.lines = lines;
    drawn.plot.setData(data);
    tell(element, drawn, format);
    return;
  }
  const plot = new uPlot(settings(element, format, lines), data, element);
  const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  resized.observe(element);
  charts.set(element, { plot, lines, resized });
}

/**
 * @param {HTMLElement} element
 * @param {(value: number | null) => string} format
 * @param {readonly Line[]} lines
 * @returns {import("uplot").Options}
 */
function settings(element, format, lines) {
  const axis = { stroke: () => css("faint"), grid: { stroke: () => css("line"), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, size: 24, space: 64, values: "{HH}:{mm}" },
      {
        ...axis,
        size: 52,
        space: 32,
        values: (_plot, splits) => splits.map((value) => (format === duration ? roughly(value) : format(value))),
      },
    ],
    series: [
      {},
      ...lines.map(({ name }, i) => ({
        label: name,
        stroke: () => css(colorOf(lines, i)),
        width: 1.5,
        dash: lines[i]?.color ? [] : (DASHES[i % DASHES.length] ?? []),
        points: { show: true, size: 4, filter: alone },
        spanGaps: false,
      })),
    ],
    hooks: {
      setCursor: [
        () => {
          const drawn = charts.get(element);
          if (drawn) tell(element, drawn, format);
        },
      ],
    },
  };
}

/**
 * The values without neighbours, which no line shows.
 * @param {import("uplot")} plot
 * @param {number} series
 */
function alone({ data }, series) {
  const values = data[series] ?? [];
  return [...values.keys()].filter(
    (i) => typeof values[i] === "number" && typeof values[i - 1] !== "number" && typeof values[i + 1] !== "number",
  );
}

/**
 * Writes into the legend the values under the pointer, else the latest.
 * @param {HTMLElement} element
 * @param {Drawn} drawn
 * @param {(value: number | null) => string} format
 */
function tell(element, { plot, lines }, format) {
  const at = plot.cursor.idx ?? plot.data[0].length - 1;
  const values = element.parentElement?.querySelectorAll(".legend .value") ?? [];
  for (const [i, value] of values.entries()) value.textContent = format(lines[i]?.values[at] ?? null);
}
