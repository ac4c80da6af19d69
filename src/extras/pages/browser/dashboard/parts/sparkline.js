/** A line chart without axes, as high as the text beside it. */

import { html } from "../../preact.js";

const WIDTH = 96;
const HEIGHT = 20;

/**
 * @param {readonly number[]} values
 * @param {string} label
 */
export function sparkline(values, label) {
  const max = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map(
    (value, i) => `${(i * step).toFixed(1)},${(HEIGHT - 1 - (value / max) * (HEIGHT - 2)).toFixed(1)}`,
  );
  return html`
    <svg class="sparkline" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}: at most ${max}">
      <polyline points=${points.join(" ")} />
    </svg>`;
}
