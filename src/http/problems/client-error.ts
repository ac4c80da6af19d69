import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { PROBLEM_TYPE } from "../../engine/problem.ts";
import { type ProblemDocument, problemDocument } from "./problem.ts";

/** What Node says of a request that its parser has refused. */
export interface ClientError extends Error {
  readonly code?: string;
  /** What came last. */
  readonly rawPacket?: Buffer;
}

/** The most that Node's parser takes of a head. Above the sum of our own bounds, so that it is we who say which is exceeded. */
export const HEAD_BYTES = 49_152;

/** By Node's code; every other one is a request that cannot be read. */
const STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const LF = 0x0a;
/** A request line that has begun: a method and a space. */
const BEGUN = /^[A-Z-]{3,32} /;

/** Connections that end when what came before has been answered. */
const ending = new WeakSet<Duplex>();

/**
 * Answers a request that never became one, as every other is answered: by a problem document. The connection ends with it. What was
 * asked before on the same connection is answered first: else a caller would take this for its answer.
 * @param latest the answer to the last request that became one
 */
export function refuse(error: ClientError, socket: Duplex, latest: ServerResponse | undefined): void {
  const underway = latest !== undefined && !latest.writableFinished && !latest.destroyed;
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
  } else if (underway && latest.req.complete) {
    if (ending.has(socket)) return;
    ending.add(socket);
    latest.once("finish", () => answer(error, socket));
  } else if (underway && latest.headersSent) {
    // It is the body of that request which cannot be read, and its answer has begun: there is nothing to be said any more.
    socket.destroy();
  } else if (!ending.has(socket)) {
    answer(error, socket);
  }
}

function answer(error: ClientError, socket: Duplex): void {
  if (!socket.writable) return;
  const problem = problemOfClientError(error);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Request-Id: ${randomUUID()}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function problemOfClientError({ code = "", rawPacket }: ClientError): ProblemDocument {
  const status = STATUS[code] ?? 400;
  if (status === 400) return problemDocument("invalid-parameter", "The request is malformed.");
  if (status === 413) return problemDocument("payload-too-large", "The extensions of a chunk are too long.");
  if (status === 431 && rawPacket && isWithinTarget(rawPacket)) return problemDocument("uri-too-long");
  return bareProblem(status);
}

/** Whether it is a request line that was too long: the parser stops at the first of so many bytes. */
function isWithinTarget(packet: Buffer): boolean {
  const end = packet.indexOf(LF);
  return (end < 0 || end > HEAD_BYTES) && BEGUN.test(packet.toString("latin1", 0, 40));
}

/** A problem of HTTP alone, which the catalogue leaves to its status (RFC 9457 §4.2.1). */
export function bareProblem(status: number, detail?: string): ProblemDocument {
  const title = STATUS_CODES[status] ?? "";
  return { type: "about:blank", title, status, ...(detail === undefined ? {} : { detail }) };
}
