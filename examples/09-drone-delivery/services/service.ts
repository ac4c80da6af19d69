import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** The failures of a service on purpose, as shares of 1. */
export interface Faults {
  /** The share of requests that get a 503, half of them after the work was done, as if the answer had been lost. */
  readonly transient: number;
  /** The share of deliveries that are always refused with 422. */
  readonly lasting: number;
}

/** One request that a service answered. */
export interface Entry {
  readonly at: number;
  readonly service: string;
  readonly method: string;
  readonly id: string;
  readonly status: number;
}

/** How a service turns the body of a PUT into its document. */
export type Accept = (id: string, body: Readonly<Record<string, unknown>>) => object;

/**
 * A small HTTP service that keeps one document for each delivery: `PUT /{id}` creates it (201, with the document) or finds that
 * it exists (204), `GET /{id}` reads it, `DELETE /{id}` removes it, even if there is none (204).
 */
export class Service {
  readonly name: string;
  /** The existing documents. */
  readonly documents = new Map<string, object>();
  /** How often each document was created. */
  readonly created = new Map<string, number>();
  readonly journal: Entry[] = [];
  readonly #accept: Accept;
  readonly #faults: Faults;
  readonly #server: Server;

  constructor(name: string, accept: Accept, faults: Faults) {
    this.name = name;
    this.#accept = accept;
    this.#faults = faults;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  /** Listens on a free port of this machine; returns the address. */
  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    const id = decodeURIComponent(url.slice(1));
    const body = method === "PUT" ? ((await json(request)) as Record<string, unknown>) : {};
    const chance = Math.random();
    const { transient } = this.#faults;
    if (chance < transient / 2) return this.#reply(response, method, id, 503);
    const [status, document] = this.#act(method, id, body);
    if (chance < transient) return this.#reply(response, method, id, 503);
    this.#reply(response, method, id, status, document);
  }

  #act(method: string, id: string, body: Readonly<Record<string, unknown>>): [status: number, document?: object] {
    const known = this.documents.get(id);
    if (method === "GET") return known ? [200, known] : [404];
    if (method === "DELETE") {
      this.documents.delete(id);
      return [204];
    }
    if (method !== "PUT") return [405];
    if (known) return [204];
    if (this.#refuses(id)) return [422];
    const document = this.#accept(id, body);
    this.documents.set(id, document);
    this.created.set(id, (this.created.get(id) ?? 0) + 1);
    return [201, document];
  }

  /** The same deliveries at each attempt. */
  #refuses(id: string): boolean {
    const hash = createHash("sha256").update(`${this.name} ${id}`).digest().readUInt32BE();
    return hash / 2 ** 32 < this.#faults.lasting;
  }

  #reply(response: ServerResponse, method: string, id: string, status: number, document?: object): void {
    this.journal.push({ at: Date.now(), service: this.name, method, id, status });
    response.statusCode = status;
    if (document) response.setHeader("Content-Type", "application/json");
    response.end(document && JSON.stringify(document));
  }
}
