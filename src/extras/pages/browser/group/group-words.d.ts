/** The types of group-words.js for the server; the tsconfig.json of the pages checks the file itself. */
import type { Group } from "../../../../wire/group.ts";

export function hasEnded(group: Group): boolean;
export function lookOf(group: Group): string;
export function headlineOf(group: Group): string;
export function numberOf(group: Group): string;
export function endedOf(group: Group): string;
export function countsOf(group: Group): string;
export function placeOf(group: Group): string;
export function waitOf(group: Group, agoS?: number): string;
export function titleOf(group: Group): string;
