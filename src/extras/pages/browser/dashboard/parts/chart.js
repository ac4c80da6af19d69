/** Charts of the last hour, day or week, drawn by uPlot, and what they show. */

import uPlot from "uplot";
import { duration, moment } from "../../../../../words/numbers.ts";
import { html, useLayoutEffect, useRef, useState } from "../../preact.js";
import { options, withOption } from "../address.js";
import { seldom } from "../api.js";

/** A duration in one unit, for an axis: "40 s", "1.7 min". @param {number} seconds */
function roughly(seconds) {
  /** @param {number} value */
  const short = (value) => String(Math.round(value * 10) / 10);
  if (seconds < 100) return duration(seconds);
  return seconds < 6000 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}

/** How far back charts can go. */
const SPANS = /** @type {const} */ (["hour", "day", "week"]);

/** How far back charts go. */
const shownSpan = () => SPANS.find((span) => span === options().get("span")) ?? "hour";

/**
 * What asks for the history of one or all queues, as far back as the address says.
 * @param {string} path
 * @param {number} step of the last hour, s
 * @param {number} everyMs how often the last hour is asked for at most
 * @returns {(signal: AbortSignal) => Promise<any>} the answer of the server, whose form is decided by the path
 */
export function pastOf(path, step, everyMs) {
  const asks = {
    hour: seldom(`${path}?step=${step}`, everyMs),
    day: seldom(`${path}?minutes=1440&step=300`, 60_000),
    week: seldom(`${path}?minutes=10080&step=3600`, 300_000),
  };
  return (signal) => asks[shownSpan()](signal);
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

/** Chooses how far back all charts of a view go. */
export const spans = () => html`
  <nav class="spans" aria-label="How far back">
    ${SPANS.map(
      (span) =>
        html`<a key=${span} href=${withOption("span", span)} aria-current=${span === shownSpan() ? "true" : null}>Last ${span}</a>`,
    )}
  </nav>`;

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
 */
export function chart(title, at, format, lines) {
  // If the lines change, a new chart is made.
  const key = [title, shownSpan(), ...lines.map(({ name }) => name)].join();
  return html`<${Chart} key=${key} title=${title} at=${at} format=${format} lines=${lines} />`;
}

/** @param {{ title: string, at: readonly number[], format: (value: number | null) => string, lines: readonly Line[] }} props */
function Chart({ title, at, format, lines }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {import("uplot") | null} */ (null));
  /** Which value is under the pointer. */
  const [pointed, setPointed] = useState(/** @type {number | null} */ (null));

  useLayoutEffect(() => {
    const { current: place } = element;
    if (!place) return;
    const made = new uPlot(settings(place, format, lines, setPointed), [[]], place);
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
  const told = lines.map(({ name, values }) => `${name} ${range(values, format)}`).join(", ");
  return html`
    <figure class="chart">
      <figcaption><h2>${title}</h2>${asOf}</figcaption>
      <div class="plot" ref=${element} role="img" aria-label="${title} in the last ${shownSpan()}: ${told || "nothing yet"}" />
      <ul class="legend">
        ${lines.map(
          ({ name, values }, i) => html`
            <li key=${name} style=${{ "--series": `var(--${colorOf(lines, i)})` }}>
              ${name}<span class="value">${format(values[pointed ?? values.length - 1] ?? null)}</span>
            </li>`,
        )}
      </ul>
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

/** A colour of the style sheet as a canvas takes it: as it is on an element, light or dark. @param {HTMLElement} element @param {string} name */
function colorOn(element, name) {
  element.style.color = `var(--${name})`;
  return getComputedStyle(element).color;
}

/**
 * @param {HTMLElement} element
 * @param {(value: number | null) => string} format
 * @param {readonly Line[]} lines
 * @param {(index: number | null) => void} onPointed
 * @returns {import("uplot").Options}
 */
function settings(element, format, lines, onPointed) {
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
      { ...axis, size: 24, space: 64, values: shownSpan() === "week" ? "{MM}-{DD}" : "{HH}:{mm}" },
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
        stroke: () => colorOn(element, colorOf(lines, i)),
        width: 1.5,
        dash: lines[i]?.color ? [] : (DASHES[i % DASHES.length] ?? []),
        points: { show: true, size: 4, filter: alone },
        spanGaps: false,
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPointed(cursor.idx ?? null)] },
  };
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
