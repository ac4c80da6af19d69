import type { Row } from "./endure.ts";

const HEAD = ["fault", "accepted", "lost", "executions", "recovery s"];

/** The outcomes of faults as a Markdown table. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => [row.fault, row.accepted, row.lost, row.executions, row.recoveryS.toFixed(1)]);
  const width = Math.max(...rows.map((row) => row.fault.length), HEAD[0]?.length ?? 0);
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell, n) => (n === 0 ? String(cell).padEnd(width) : String(cell).padStart(HEAD[n]?.length ?? 0))).join(" | ")} |`;
  const rule = `|${HEAD.map((name, n) => (n === 0 ? "-".repeat(width + 2) : `${"-".repeat(name.length + 1)}:`)).join("|")}|`;
  return [line(HEAD), rule, ...lines.map(line)].join("\n");
}
