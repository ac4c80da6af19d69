/** The width of every picture. */
export const WIDTH = 760;
/** Colours that colour-blind people can tell apart as well (Okabe and Ito). */
export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"] as const;

/** A picture with a title above and a line of small print below, as SVG. */
export function drawing(
  { title, caption, height, left }: { title: string; caption: string; height: number; left: number },
  parts: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeText(title)}">`,
    "<style>text{font:13px system-ui,sans-serif;fill:#333}.title{font-weight:600;font-size:15px}.small{font-size:10.5px;fill:#666}.grid{stroke:#ddd}</style>",
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${left}" y="26" class="title">${escapeText(title)}</text>`,
    ...parts,
    `<text x="${left}" y="${height - 10}" class="small">${escapeText(caption)}</text>`,
    "</svg>",
    "",
  ].join("\n");
}

/** Steps of 1, 2 or 5 times a power of ten, from zero to the largest value or just above it. */
export function niceTicks(largest: number): number[] {
  const rough = largest / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  return Array.from({ length: Math.ceil(largest / step) + 1 }, (_, n) => n * step);
}

export function text(x: number, y: number, value: string, anchor: "start" | "middle" | "end"): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}">${escapeText(value)}</text>`;
}

/** A coordinate, to a tenth. */
export const at = (value: number): string => value.toFixed(1);

export function escapeText(value: string): string {
  return value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");
}
