/** The types of task-words.js for the server; the tsconfig.json of the pages checks the file itself. */
import type { Task } from "../../../../wire/task.ts";

export function hasEnded(state: string): boolean;
export function headlineOf(task: Task): string;
export function numberOf(task: Task): string;
export function lookOf(task: Task): string;
export function collectOf(task: Task): string;
export function isLong(number: string): boolean;
export function aheadOf(task: Task): string;
export function attemptOf(task: Task): string;
export function detailOf(task: Task): string;
export function waitOf(task: Task, agoS?: number): string;
export function titleOf(task: Task): string;
