/** Requests at a door and their responses: which may not be passed on, that a caller has hung up, and heads that stay as they are. */
import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { hasBody } from "./relay-body.ts";

/** How soon a caller's silent connection is probed, ms: the machine of one that waits may have vanished. */
const PROBE_MS = 30_000;

/** Those who listen to the end of a connection, on which several requests may wait. */
const listeners = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls a listener once the caller has hung up: closed, reset or half-closed the connection; at once if it has already. A connection that
 * is not read from hears nothing. Returns what ends the listening.
 */
export function onHangUp(socket: Socket, listener: () => void): () => void {
  if (socket.destroyed || socket.readableEnded) {
    listener();
    return () => undefined;
  }
  const all = listeners.get(socket) ?? watch(socket);
  all.add(listener);
  return () => all.delete(listener);
}

function watch(socket: Socket): Set<() => void> {
  const all = new Set<() => void>();
  listeners.set(socket, all);
  const tell = () => {
    for (const listener of [...all]) listener();
    all.clear();
  };
  socket.on("end", tell).on("close", tell);
  // Without a listener, an error on the connection of an upgrade would end the process; its close follows.
  socket.on("error", () => undefined);
  socket.setKeepAlive(true, PROBE_MS);
  return all;
}

/** What Node's parser has said of an upgrade. */
const OFFERED = Symbol("offered");

/**
 * A request of a door, for the server's option `IncomingMessage`. An offer of HTTP/2 is ignored (RFC 9110 §7.8), also with the body that
 * some clients send beside it; by itself, Node would take any offer for an upgrade, and the body for the new protocol.
 */
export class DoorRequest extends IncomingMessage {
  private [OFFERED] = false;

  get upgrade(): boolean {
    return this[OFFERED] && !hasBody(this) && protocolsOf(this) !== "";
  }

  /** Set by Node before it has read the headers. */
  set upgrade(offered: boolean | null) {
    this[OFFERED] = offered === true;
  }
}

/** The protocols that a request offers in Upgrade, but for HTTP/2; "" for none. */
export function protocolsOf({ headers: { upgrade = "" } }: IncomingMessage): string {
  const offered = upgrade.split(",").map((protocol) => protocol.trim());
  return offered.filter((protocol) => protocol !== "" && !/^h2c?$/i.test(protocol)).join(", ");
}

type Headers = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * A response of a door, for the server's option `ServerResponse`. Node writes a raw list of headers as it is, with its duplicates, only if
 * none was ever set; so those that are set stay here until the head is written, and with a raw list they are not written.
 */
export class DoorResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  readonly #set = new Map<string, [name: string, value: number | string | readonly string[]]>();

  override setHeader(name: string, value: number | string | readonly string[]): this {
    if (this.headersSent) return super.setHeader(name, value);
    this.#set.set(name.toLowerCase(), [name, value]);
    return this;
  }

  override appendHeader(name: string, value: string | readonly string[]): this {
    return this.setHeader(name, [this.getHeader(name) ?? [], value].flat().map(String));
  }

  override getHeader(name: string): number | string | string[] | undefined {
    const [, value] = this.#set.get(name.toLowerCase()) ?? [];
    return typeof value === "object" ? [...value] : value;
  }

  override getHeaders(): OutgoingHttpHeaders {
    return Object.fromEntries(this.getHeaderNames().map((name) => [name, this.getHeader(name)]));
  }

  override getHeaderNames(): string[] {
    return [...this.#set.keys()];
  }

  override hasHeader(name: string): boolean {
    return this.#set.has(name.toLowerCase());
  }

  override removeHeader(name: string): void {
    super.removeHeader(name);
    this.#set.delete(name.toLowerCase());
  }

  override writeHead(status: number, message?: string, headers?: Headers): this;
  override writeHead(status: number, headers?: Headers): this;
  override writeHead(status: number, second?: string | Headers, third?: Headers): this {
    const headers = typeof second === "object" ? second : third;
    if (!Array.isArray(headers)) for (const [name, value] of this.#set.values()) super.setHeader(name, value);
    return typeof second === "string" ? super.writeHead(status, second, headers) : super.writeHead(status, headers);
  }
}

const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Why a request must be refused with 400, and its connection closed, although Node's parser has let it through; undefined if it may be
 * passed on. Two servers might read it in two ways (RFC 9112 §3.2, §6.1, §11.2).
 */
export function malformed({ headers, rawHeaders, httpVersion, url = "" }: IncomingMessage): string | undefined {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "The version of HTTP is neither 1.1 nor 1.0.";
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && httpVersion === "1.0") return "HTTP/1.0 has no Transfer-Encoding.";
  if (coding !== undefined && coding.toLowerCase() !== "chunked") return "The Transfer-Encoding is not chunked.";
  const hosts = rawHeaders.filter(
    (name, i) => i % 2 === 0 && name.length === 4 && name.toLowerCase() === "host",
  ).length;
  if (hosts > 1) return "There are several Host headers.";
  if (hosts === 0 && httpVersion === "1.1") return "There is no Host header.";
  if (!HOST.test(headers.host ?? "")) return "The Host header is invalid.";
  if (url.includes("#")) return "The path contains a fragment.";
  return undefined;
}

/**
 * The response to a request whose connection Node has handed over for an upgrade, so that it can be answered like any other; the
 * connection is closed after it.
 */
export function responseTo(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new DoorResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  socket.on("drain", () => response.emit("drain"));
  response.on("finish", () => socket.destroySoon());
  return response;
}
