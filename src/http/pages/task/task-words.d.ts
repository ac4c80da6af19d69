/** The types of task-words.js for the server; tsconfig.pages.json checks the file itself. */
import type { MonitorDocument } from "../../task/documents/monitor-document.ts";

export function hasEnded(state: string): boolean;
export function headlineOf(task: MonitorDocument): string;
export function numberOf(task: MonitorDocument): string;
export function lookOf(task: MonitorDocument): string;
export function collectOf(task: MonitorDocument): string;
export function isLong(number: string): boolean;
export function aheadOf(task: MonitorDocument): string;
export function attemptOf(task: MonitorDocument): string;
export function detailOf(task: MonitorDocument): string;
export function waitOf(task: MonitorDocument, agoS?: number): string;
export function titleOf(task: MonitorDocument): string;
