/** The types of words.js for the server and the commands; the tsconfig.json of the pages checks the file itself. */
import type { Fact } from "../../../task-record.ts";
import type { Eta } from "../../../wire/task.ts";

export function count(value: number | null | undefined): string;
export function counted(number: number, noun: string): string;
export function percentage(percent: number): string;
export function duration(seconds: number | null | undefined): string;
export function about(seconds: number, round?: (value: number) => number): string;
export function range(eta: Pick<Eta, "seconds" | "low" | "high">, agoS?: number): string;
export function starting(left: number): string;
export function allowed(rate: { readonly max: number; readonly per: string }): string;
export function rate(perSecond: number | null | undefined): string;
export function size(bytes: number): string;
export function factsOf<T extends { readonly finishedAt: string | null }>(
  facts: readonly Fact[],
  task: T,
): (Fact & { readonly value: string })[];
