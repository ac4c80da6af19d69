import type { BytesReply, Reply } from "./script.ts";

/** A bulk string; "" if absent. */
export const text = (reply: Reply | BytesReply | undefined): string =>
  reply === null || reply === undefined ? "" : reply.toString();

/** A number that is always present. */
export const number = (reply: Reply | BytesReply | undefined): number => Number(text(reply));

/** A number; null for "". */
export const optional = (reply: Reply | BytesReply | undefined): number | null =>
  text(reply) === "" ? null : number(reply);

/** The members of an array. */
export const list = <T extends Reply | BytesReply>(reply: T | undefined): T[] =>
  Array.isArray(reply) ? (reply as T[]) : [];
