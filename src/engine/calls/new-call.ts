import { randomBytes } from "node:crypto";

/** A unique id for a call: letters and digits. */
export function newCall(): string {
  return randomBytes(6).toString("hex");
}
