/** Charts of the last minutes, hour, day or week, drawn by uPlot, and what they show. */

import uPlot from "uplot";
import { count, duration, moment } from "../../../../../words/numbers.ts";
import { html, useLayoutEffect, useRef, useState } from "../../preact.js";
import { options, withOption } from "../address.js";
import { seldom } from "../api.js";

/** The units of durations on an axis, s. */
const UNITS = /** @type {const} */ ([
  { name: "ms", size: 0.001 },
  { name: "s", size: 1 },
  { name: "min", size: 60 },
  { name: "h", size: 3600 },
]);

/** The values of an axis, all in one unit: 0, "0.5 s", "1 s". @param {readonly number[]} seconds */
function durationTicks(seconds) {
  const last = seconds.at(-1) ?? 0;
  const unit = UNITS.findLast(({ size }) => last >= size) ?? UNITS[0];
  return seconds.map((value) => (value === 0 ? "0" : `${Number((value / unit.size).toFixed(2))} ${unit.name}`));
}

/** Steps between the values of an axis that people would write: 1, 2 and 5 times a power of ten. */
const STEPS = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((one) => one * 10 ** power));
/** The same of durations, s: halves and quarters of a minute and of an hour. */
const DURATION_STEPS = [
  ...STEPS.filter((step) => step < 15),
  ...[15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400],
];

/** How far back charts can go: with the name of each, and its title. */
const SPANS = /** @type {const} */ ([
  { name: "minutes", title: "Last 15 minutes", inWords: "the last 15 minutes" },
  { name: "hour", title: "Last hour", inWords: "the last hour" },
  { name: "day", title: "Last day", inWords: "the last day" },
  { name: "week", title: "Last week", inWords: "the last week" },
]);

/** How far back charts go. */
export const shownSpan = () => SPANS.find(({ name }) => name === options().get("span")) ?? SPANS[0];

/** Of what is shown at least so much, in steps, even if nothing had happened before. */
const LEAST = 12;

/**
 * A history without the time before anything happened: else a chart would be empty, with a line at its edge.
 * @param {import("../api.js").History | import("../api.js").QueueHistory} past
 */
function begun(past) {
  const { at } = past;
  const all = "queues" in past ? past.queues : [past];
  const first = at.findIndex((_, i) =>
    all.some(({ waiting, running, accepted, finished }) => [waiting, running, accepted, finished].some((of) => of[i])),
  );
  const from = first < 0 ? 0 : Math.max(0, Math.min(first - 1, at.length - LEAST));
  /** @param {object} series */
  const cut = (series) =>
    Object.fromEntries(
      Object.entries(series).map(([name, values]) => {
        const isSeries = Array.isArray(values) && name !== "deploys" && name !== "queues";
        return [name, isSeries ? values.slice(from) : values];
      }),
    );
  return "queues" in past ? { ...cut(past), queues: past.queues.map(cut) } : cut(past);
}

/**
 * What asks for the history of one or all queues, as far back as the address says.
 * @param {string} path
 * @param {number} step of the last hour, s
 * @param {number} everyMs how often the last hour is asked for at most
 * @returns {(signal: AbortSignal) => Promise<any>} the answer of the server, whose form is decided by the path
 */
export function pastOf(path, step, everyMs) {
  const asks = {
    minutes: seldom(`${path}?minutes=15&step=10`, 10_000),
    hour: seldom(`${path}?step=${step}`, everyMs),
    day: seldom(`${path}?minutes=1440&step=300`, 60_000),
    week: seldom(`${path}?minutes=10080&step=3600`, 300_000),
  };
  return async (signal) => begun(await asks[shownSpan().name](signal));
}

/**
 * Adds up a figure of several queues.
 * @param {readonly import("../api.js").Series[]} queues
 * @param {number} length
 * @returns {(figure: "waiting" | "started" | "finished" | "failed") => number[]}
 */
export function sumOf(queues, length) {
  return (figure) => Array.from({ length }, (_, i) => queues.reduce((sum, queue) => sum + (queue[figure][i] ?? 0), 0));
}

/** The charts of a view, below the choice of how far back all of them go; side by side on a narrow screen. @param {import("../../preact.js").Content} charts */
export const chartsOf = (charts) => html`
  ${spans()}
  <div class="charts" role="group" aria-label="Charts" tabindex="0">${charts}</div>`;

const spans = () => html`
  <nav class="spans" aria-label="How far back">
    ${SPANS.map(
      ({ name, title }) =>
        html`<a key=${name} href=${withOption("span", name)} aria-current=${name === shownSpan().name ? "true" : null}>${title}</a>`,
    )}
  </nav>`;

/** @typedef {import("../api.js").History["deploys"][number]} Deploy */

/** @param {Deploy} deploy */
const secondsOf = ({ at }) => Date.parse(at) / 1000;

/** @typedef {{ name: string, values: readonly (number | null)[], color?: "accent" | "good" | "bad" | "faint" }} Line */

const HEIGHT = 120;
/** Colours of lines that do not stand for a state; their dashes differ too. */
const COLORS = ["accent", "violet", "teal", "amber"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const DARK = matchMedia("(prefers-color-scheme: dark)");

/**
 * @param {string} title
 * @param {readonly number[]} at unix time of each value, in seconds
 * @param {(value: number | null) => string} format
 * @param {readonly Line[]} lines
 * @param {readonly Deploy[]} deploys
 */
export function chart(title, at, format, lines, deploys) {
  // If the lines change, a new chart is made.
  const key = [title, shownSpan().name, ...lines.map(({ name }) => name)].join();
  return html`<${Chart} key=${key} title=${title} at=${at} format=${format} lines=${lines} deploys=${deploys} />`;
}

/** @param {{ title: string, at: readonly number[], format: (value: number | null) => string, lines: readonly Line[], deploys: readonly Deploy[] }} props */
function Chart({ title, at, format, lines, deploys }) {
  const marks = useRef(deploys);
  marks.current = deploys;
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {import("uplot") | null} */ (null));
  /** Which value is under the pointer. */
  const [pointed, setPointed] = useState(/** @type {number | null} */ (null));

  useLayoutEffect(() => {
    const { current: place } = element;
    if (!place) return;
    const made = new uPlot(settings(place, { format, lines, marks }, setPointed), [[]], place);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: HEIGHT }));
    resized.observe(place);
    // A canvas does not follow the colours of the style sheet by itself.
    const redraw = () => made.redraw(false);
    DARK.addEventListener("change", redraw);
    return () => {
      DARK.removeEventListener("change", redraw);
      resized.disconnect();
      made.destroy();
    };
  }, []);
  useLayoutEffect(() => plot.current?.setData([[...at], ...lines.map(({ values }) => [...values])]), [at]);

  const last = at.at(-1);
  const asOf =
    last !== undefined && html`<span class="hint"> as of ${moment(new Date(last * 1000).toISOString())}</span>`;
  const begin = at[0] ?? 0;
  const marked = deploys.filter((deploy) => secondsOf(deploy) >= begin);
  const told = lines.map(({ name, values }) => `${name} ${range(values, format)}`).join(", ");
  return html`
    <figure class="chart">
      <figcaption><h2>${title}</h2>${asOf}</figcaption>
      <div class="plot" ref=${element} role="img" aria-label="${title} in ${shownSpan().inWords}: ${told || "nothing yet"}" />
      <ul class="legend">
        ${lines.map(
          ({ name, values }, i) => html`
            <li key=${name} style=${{ "--series": `var(--${colorOf(lines, i)})` }}>
              <svg width="18" height="2" aria-hidden="true"><line x2="18" y1="1" y2="1" stroke-dasharray=${dashOf(lines, i).join(" ")} /></svg>
              ${name}<span class="value">${format(values[pointed ?? values.length - 1] ?? null)}</span>
            </li>`,
        )}
      </ul>
      ${marked.length > 0 && html`<p class="hint">┊ ${marked.map(({ at, version }) => `${version} since ${moment(at)}`).join(", ")}</p>`}
    </figure>`;
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

/** @param {readonly Line[]} lines @param {number} i */
const dashOf = (lines, i) => (lines[i]?.color ? [] : (DASHES[i % DASHES.length] ?? []));

/** A colour of the style sheet as a canvas takes it: as it is on an element, light or dark. @param {HTMLElement} element @param {string} name */
function colorOn(element, name) {
  element.style.color = `var(--${name})`;
  return getComputedStyle(element).color;
}

/**
 * @param {HTMLElement} element
 * @param {{ format: (value: number | null) => string, lines: readonly Line[], marks: { current: readonly Deploy[] } }} shown
 * @param {(index: number | null) => void} onPointed
 * @returns {import("uplot").Options}
 */
function settings(element, { format, lines, marks }, onPointed) {
  const axis = {
    stroke: () => colorOn(element, "faint"),
    grid: { stroke: () => colorOn(element, "line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      { ...axis, size: 24, space: 64, values: shownSpan().name === "week" ? "{MM}-{DD}" : "{HH}:{mm}" },
      {
        ...axis,
        size: 52,
        space: 32,
        incrs: format === duration ? DURATION_STEPS : STEPS.filter((step) => format !== count || step >= 1),
        values: (_plot, splits) =>
          format === duration ? durationTicks(splits) : splits.map((value) => String(Number(value.toFixed(3)))),
      },
    ],
    series: [
      {},
      ...lines.map(({ name }, i) => ({
        label: name,
        stroke: () => colorOn(element, colorOf(lines, i)),
        width: 1.5,
        dash: dashOf(lines, i),
        points: { show: true, size: 4, filter: alone },
        spanGaps: false,
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => onPointed(cursor.idx ?? null)],
      draw: [(plot) => drawMarks(plot, marks.current, colorOn(element, "faint"))],
    },
  };
}

/**
 * Draws a dotted line where another version of the handlers began.
 * @param {import("uplot")} plot
 * @param {readonly Deploy[]} deploys
 * @param {string} color
 */
function drawMarks({ ctx, bbox, scales, valToPos }, deploys, color) {
  ctx.save();
  ctx.strokeStyle = color;
  ctx.setLineDash([3, 3]);
  for (const deploy of deploys) {
    const at = secondsOf(deploy);
    if (at < (scales.x?.min ?? 0) || at > (scales.x?.max ?? 0)) continue;
    const x = Math.round(valToPos(at, "x", true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

/**
 * The values without neighbours, which a line would not show.
 * @param {import("uplot")} plot
 * @param {number} series
 */
function alone({ data }, series) {
  const values = data[series] ?? [];
  return [...values.keys()].filter(
    (i) => typeof values[i] === "number" && typeof values[i - 1] !== "number" && typeof values[i + 1] !== "number",
  );
}

/** The size of a chart without axes, in its own units. */
const SPARKLINE = { width: 96, height: 20 };

/**
 * A line chart without axes, as high as the text beside it.
 * @param {readonly number[]} values
 * @param {string} label
 */
export function sparkline(values, label) {
  const max = Math.max(1, ...values);
  const { width, height } = SPARKLINE;
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, i) => `${(i * step).toFixed(1)},${(height - 1 - (value / max) * (height - 2)).toFixed(1)}`,
  );
  return html`
    <svg class="sparkline" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}: at most ${max}">
      <polyline points=${points.join(" ")} vector-effect="non-scaling-stroke" />
    </svg>`;
}
