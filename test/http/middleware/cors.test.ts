import { expect } from "chai";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";

const APP = "https://app.example";
const ASYNC = { Prefer: "respond-async" };
const list = (value: unknown) => String(value).split(", ");

describe("CORS (Fetch standard)", () => {
  const keys = testKeys({ ann: ["submit"] });
  let server: TestServer;
  const preflight = (at: string, headers: Record<string, string>, to = server) =>
    to.send(at, { method: "OPTIONS", headers: { "Access-Control-Request-Method": "POST", ...headers } });
  const grants = (answer: Answer) => Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"));

  describe("with origins", () => {
    before(async () => {
      server = await startServer({ ...keys.env, CORS_ORIGINS: `${APP}, http://localhost:5173`, RATE_LIMIT: "2/1h" });
    });
    after(() => server.stop());

    it("answers a preflight without a key, and without counting it", async () => {
      for (let n = 0; n < 4; n += 1) {
        const answer = await preflight("/v1/requests", {
          Origin: APP,
          "Access-Control-Request-Headers": "authorization,prefer,x-anything",
        });
        expect(answer.status).to.equal(204);
        expect(answer.headers).not.to.have.property("access-control-allow-credentials");
        expect(answer.headers["access-control-allow-origin"]).to.equal(APP);
        expect(list(answer.headers["access-control-allow-methods"])).to.include.members([
          "GET",
          "POST",
          "PUT",
          "DELETE",
        ]);
        expect(list(answer.headers["access-control-allow-headers"])).to.have.members(["*", "Authorization"]);
        expect(Number(answer.headers["access-control-max-age"])).to.be.above(0);
        expect(list(answer.headers.vary)).to.include("Origin");
      }
    });

    it("has Vary: Origin on the response for a waiting task as well", async () => {
      const open = await startServer({ CORS_ORIGINS: APP });
      const pending = { Origin: APP, "X-Request-Id": "waits" };
      const gate = closedGate();
      const submission = { method: "POST", headers: { ...ASYNC, ...pending }, body: gate.input };
      const accepted = await open.send("/v1/queues/gated/requests", submission);
      const waiting = await open.send("/v1/requests/waits", { headers: { Origin: APP } });
      gate.open();
      await open.stop();
      expect([accepted.status, waiting.status]).to.deep.equal([202, 404]);
      for (const answer of [accepted, waiting]) {
        expect(answer.headers["access-control-allow-origin"]).to.equal(APP);
        expect(list(answer.headers.vary)).to.include.members(["Origin", "Prefer"]);
      }
    });

    it("lets pages of these origins read the response, including errors", async () => {
      const origins = { Origin: "http://localhost:5173" };
      const statuses: number[] = [];
      for (const headers of [keys.as("ann"), {}, keys.as("ann"), keys.as("ann")]) {
        const answer = await server.send("/v1/queues", { headers: { ...headers, ...origins } });
        statuses.push(answer.status);
        expect(answer.headers["access-control-allow-origin"]).to.equal("http://localhost:5173");
        expect(list(answer.headers.vary)).to.include.members(["Origin", "Prefer"]);
      }
      expect(statuses).to.deep.equal([200, 401, 200, 429]);
    });

    it("sends pages of other origins nothing but Vary", async () => {
      const others = [
        "https://app.example.evil",
        "http://app.example",
        "https://APP.example",
        "null",
        "https://app.example:8443",
      ];
      for (const Origin of others) {
        for (const answer of [
          await server.send("/healthz", { headers: { Origin } }),
          await preflight("/healthz", { Origin }),
        ]) {
          expect(grants(answer), Origin).to.deep.equal([]);
          expect(list(answer.headers.vary)).to.include("Origin");
        }
      }
      expect(list((await server.send("/healthz")).headers.vary)).to.include("Origin");
    });
  });

  describe("with any origin", () => {
    before(async () => {
      server = await startServer({ CORS_ORIGINS: "*" });
    });
    after(() => server.stop());

    it("sends *, also to a page with the origin null", async () => {
      for (const Origin of [APP, "null"]) {
        const answer = await server.send("/v1/queues", { headers: { Origin } });
        expect(answer.headers["access-control-allow-origin"]).to.equal("*");
      }
    });

    it("exposes every response header, except those that every page may read", async () => {
      const safelisted = ["cache-control", "content-length", "content-type", "expires"];
      const notForPages = [
        "date",
        "connection",
        "keep-alive",
        "transfer-encoding",
        "access-control-allow-origin",
        "x-content-type-options",
      ];
      const seen = new Set<string>();
      const look = (answer: Answer) => {
        for (const name of Object.keys(answer.headers)) seen.add(name);
        return answer;
      };
      const headers = { Origin: APP };
      const accepted = look(await server.post("default", {}, { ...headers, ...ASYNC, "X-Request-Id": "twice" }));
      look(await server.post("default", {}, { ...headers, ...ASYNC, "X-Request-Id": "twice" }));
      look(await server.post("default", {}, { ...headers, Prefer: "wait=10" }));
      look(await server.send(`/v1/requests/${accepted.json.id}/status`, { headers }));
      const exposing = look(await server.send("/v1/queues", { headers })).headers["access-control-expose-headers"];
      const exposed = list(exposing).map((name) => name.toLowerCase());
      const own = [...seen].filter((name) => ![...safelisted, ...notForPages].includes(name));
      expect(own).to.include.members([
        "x-request-id",
        "operation-location",
        "preference-applied",
        "idempotent-replayed",
      ]);
      expect(exposed).to.include.members(own.filter((name) => name !== "access-control-expose-headers"));
      expect(exposed).to.include.members([
        "ratelimit",
        "ratelimit-policy",
        "www-authenticate",
        "retry-after",
        "etag",
        "*",
      ]);
      expect(exposed).to.include.members(["location", "link", "x-task-state", "x-queue-index", "x-queue-eta"]);
    });

    it("lets pages submit", async () => {
      const answer = await server.post("default", {}, { Origin: APP, "Sec-Fetch-Site": "cross-site", ...ASYNC });
      expect(answer.status).to.equal(202);
    });
  });

  describe("by default", () => {
    before(async () => {
      server = await startServer();
    });
    after(() => server.stop());

    it("is off: no page can read anything", async () => {
      for (const answer of [
        await preflight("/v1/requests", { Origin: APP }),
        await server.send("/v1/queues", { headers: { Origin: APP } }),
      ]) {
        expect(grants(answer)).to.deep.equal([]);
        expect(list(answer.headers.vary)).not.to.include("Origin");
      }
    });
  });
});
