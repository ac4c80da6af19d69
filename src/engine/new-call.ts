import { randomBytes } from "node:crypto";

/** A word that tells one call from all others: letters and digits. */
export function newCall(): string {
  return randomBytes(6).toString("hex");
}
