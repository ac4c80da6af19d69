/** The parts of a script's reply; its strings are Buffers if bytes were requested. */
export type Reply = string | Buffer | number | null | Reply[];
export type Argument = string | number | Buffer;

/** A bulk string; "" if absent. */
export const text = (reply: Reply | undefined): string =>
  reply === null || reply === undefined ? "" : reply.toString();

/** A number that is always present. */
export const number = (reply: Reply | undefined): number => Number(text(reply));

/** A number; null for "". */
export const optional = (reply: Reply | undefined): number | null => (text(reply) === "" ? null : number(reply));

/** The members of an array. */
export const list = (reply: Reply | undefined): Reply[] => (Array.isArray(reply) ? reply : []);
