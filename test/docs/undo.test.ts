import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { parseDuration } from "../../src/config/duration.ts";
import { UNDO_DEFAULTS } from "../../src/workers/undo.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { eventually } from "../shared/eventually.ts";
import { ROOT } from "../shared/root.ts";

const DAY_MS = 86_400_000;

describe("docs/undo.md", () => {
  let text: string;
  let server: TestServer | undefined;
  before(async () => {
    text = await readFile(join(ROOT, "docs/undo.md"), "utf8");
  });

  it("has an example that books, and undoes its bookings", async () => {
    const calls: string[] = [];
    const bookings = createServer((request, response) => {
      calls.push(`${request.method} ${request.url}`);
      response.end("done");
    });
    await new Promise<void>((listening) => bookings.listen(0, "127.0.0.1", listening));
    const dir = await mkdtemp(join(tmpdir(), "paihao-undo-"));
    try {
      const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(text) ?? [];
      await writeFile(join(dir, "trip.ts"), code);
      process.env.BOOKINGS_URL = `http://127.0.0.1:${(bookings.address() as AddressInfo).port}`;
      server = await startServer({ HANDLERS: dir });
      const fine = await server.post("trip", { cities: ["Oslo"] });
      expect(fine.json).to.deep.equal({ booked: 1 });
      calls.length = 0;

      const refused = await server.post("trip", { cities: ["Rome", "Atlantis"] });
      expect(refused.status).to.equal(422);
      const id = refused.headers["x-request-id"];
      await eventually(() => server?.log.some(({ msg }) => msg === "the trip is undone"));
      expect(calls).to.deep.equal([
        ...[`PUT /hotels/Rome/${id}`, `PUT /hotels/Atlantis/${id}`],
        ...[`DELETE /hotels/Atlantis/${id}`, `DELETE /hotels/Rome/${id}`],
      ]);
    } finally {
      delete process.env.BOOKINGS_URL;
      await server?.stop();
      bookings.close();
      await rm(dir, { recursive: true });
    }
  });

  it("states the actual attempts, pauses and time", () => {
    const { attempts, backoff, timeoutMs } = UNDO_DEFAULTS;
    const prose = text.replaceAll(/\s+/g, " ");
    expect(prose).to.include(`up to ${attempts} times over more than a day, with pauses of up to two hours`);
    expect([parseDuration(backoff.max), timeoutMs]).to.deep.equal([2 * 3_600_000, 60_000]);
    // Half of each pause is drawn by chance: this is the least of them all.
    const minMs = Array.from({ length: attempts - 1 }, (_, n) =>
      Math.min(Number(parseDuration(backoff.max)), Number(parseDuration(backoff.base)) * 2 ** n),
    ).reduce((sum, ms) => sum + ms / 2, 0);
    expect(minMs).to.be.at.least(DAY_MS);
  });
});
