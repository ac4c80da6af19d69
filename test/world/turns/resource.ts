import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

/** A use that the resource has allowed or refused. */
export interface Use {
  readonly by: string;
  readonly fence: number;
  readonly atMs: number;
}

/**
 * What turns are taken for, such as a GPU: it remembers the largest fence that it has seen, and refuses an older one. It counts who is at it, and
 * so shows whether two ever were.
 */
export class Resource {
  readonly uses: Use[] = [];
  readonly refused: Use[] = [];
  /** How many were at it at once at most. */
  most = 0;
  readonly #inside = new Set<string>();
  #largest = 0;

  /** One more use of a turn; whether it is allowed. */
  use(by: string, fence: number): boolean {
    const use = { by, fence, atMs: Date.now() };
    if (fence < this.#largest) {
      this.refused.push(use);
      return false;
    }
    this.#largest = fence;
    this.uses.push(use);
    this.#inside.add(by);
    this.most = Math.max(this.most, this.#inside.size);
    return true;
  }

  /** Its turn is over, or its process is gone. */
  left(by: string): void {
    this.#inside.delete(by);
  }

  /** Who has used it, in the order of their first uses. */
  get users(): string[] {
    return [...new Set(this.uses.map(({ by }) => by))];
  }

  /** Serves it to other processes: `POST /NAME?fence=N`. Returns its address, and how to end that. */
  async serve(): Promise<{ readonly url: string; close(): void }> {
    const server = http.createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://resource");
      const allowed = this.use(pathname.slice(1), Number(searchParams.get("fence")));
      response.writeHead(allowed ? 204 : 409).end();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const close = () => {
      server.close();
      server.closeAllConnections();
    };
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
  }
}
