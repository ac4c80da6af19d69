import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { PROBLEM_TYPE } from "../../engine/tasks/result.ts";
import { bareProblem, type ProblemDocument, problemDocument } from "../problems/problem.ts";
import { linger } from "./unread.ts";

/** The error of Node for a request that its parser refused. */
export interface ClientError extends Error {
  readonly code?: string;
  /** The bytes received last. */
  readonly rawPacket?: Buffer;
}

/** Maximum size of a head for Node's parser. Larger than our own limits together, so that our error says which is exceeded. */
export const HEAD_BYTES = 49_152;

/** Problems by Node's error code; all others mean that the request cannot be parsed. */
const STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const LF = 0x0a;
/** The start of a request line: a method and a space. */
const BEGUN = /^[A-Z-]{3,32} /;

/** Connections that are closed once the earlier requests are answered. */
const ending = new WeakSet<Duplex>();

/**
 * Answers a request that could not be parsed with a problem document, and closes the connection. Earlier requests on the same
 * connection are answered first: otherwise a caller would take this for their response.
 * @param latest the response to the last request that was parsed
 */
export function refuse(error: ClientError, socket: Duplex, latest: ServerResponse | undefined): void {
  const underway = latest !== undefined && !latest.writableFinished && !latest.destroyed;
  if (error.code === "ECONNRESET" || (!socket.writable && socket.readableEnded)) {
    socket.destroy();
  } else if (!socket.writable) {
    // Already answered: what else comes is discarded.
  } else if (underway && latest.req.complete) {
    if (ending.has(socket)) return;
    ending.add(socket);
    latest.once("finish", () => answer(error, socket));
  } else if (underway && latest.headersSent) {
    // The body of that request cannot be parsed, but its response has begun, so nothing else can be sent.
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
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  linger(socket);
}

function problemOfClientError({ code = "", rawPacket }: ClientError): ProblemDocument {
  const status = STATUS[code] ?? 400;
  if (status === 400) return problemDocument("invalid-parameter", "The request is malformed.");
  if (status === 413) return problemDocument("payload-too-large", "The extensions of a chunk are too long.");
  if (status === 431 && rawPacket && isWithinTarget(rawPacket)) return problemDocument("uri-too-long");
  return bareProblem(status);
}

/** Whether the request line was too long, which makes the parser stop within it. */
function isWithinTarget(packet: Buffer): boolean {
  const end = packet.indexOf(LF);
  return (end < 0 || end > HEAD_BYTES) && BEGUN.test(packet.toString("latin1", 0, 40));
}
