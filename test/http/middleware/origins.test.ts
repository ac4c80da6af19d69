import { expect } from "chai";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const APP = "https://app.example";

/** Every kind of request that changes something, and its status if it is allowed. */
const EFFECTS: [method: string, path: string, passed: number][] = [
  ["POST", "/v1/requests", 202],
  ["POST", "/v1/queues/default/pause", 200],
  ["POST", "/v1/queues/default/resume", 200],
  ["POST", "/v1/leases/x/renew", 400],
  ["DELETE", "/v1/queues/default/dead", 200],
  ["PUT", "/v1/requests/-no-id", 400],
  ["GET", "/api/v1/task", 200],
  ["HEAD", "/api/v1/task", 200],
  ["GET", "/api/v1/task/", 200],
  ["GET", "/v1/gateway/nobody/items", 404],
  ["HEAD", "/v1/gateway/nobody", 404],
  ["OPTIONS", "/v1/gateway/nobody/items", 200],
  ["POST", "/nowhere", 404],
];

describe("the Origin of a request that changes something", () => {
  let server: TestServer;
  const port = () => new URL(server.url).port;
  const all = (headers: Record<string, string>, effects = EFFECTS) =>
    Promise.all(
      effects.map(async ([method, at, passed]) => {
        const body = method === "POST" || method === "PUT" ? {} : undefined;
        const answer = await server.send(at, { method, headers: { Prefer: "respond-async", ...headers }, body });
        return { what: `${method} ${at} with ${JSON.stringify(headers)}`, answer, passed };
      }),
    );
  const forbidden = async (headers: Record<string, string>, effects = EFFECTS.slice(0, 1)) => {
    for (const { what, answer } of await all(headers, effects)) {
      expect(answer.status, what).to.equal(403);
      if (answer.text !== "") expect(answer.json.type).to.equal("/problems/forbidden");
    }
  };

  describe("on a server without keys", () => {
    before(async () => {
      server = await startServer();
    });
    after(() => server.stop());

    it("is refused, for every effect, if it is another one, even without Sec-Fetch-Site, as on plain HTTP", () =>
      forbidden({ Origin: "http://evil.example" }, EFFECTS));

    it("is refused however it differs, or if Sec-Fetch-Site alone says that the page is of another site", async () => {
      const others = [`http://evil.example:${port()}`, "null", "chrome-extension://abcdef", "not an origin"];
      // Another port is another origin.
      others.push("http://127.0.0.1:1", "http://127.0.0.1", `http://localhost:${port()}`);
      for (const Origin of others) await forbidden({ Origin });
      for (const site of ["cross-site", "same-site"]) {
        await forbidden({ "Sec-Fetch-Site": site });
        await forbidden({ "Sec-Fetch-Site": site, Origin: server.url });
      }
    });

    it("can be that of the requested address, or missing, as programs send none", async () => {
      const address = `localhost:${port()}`;
      for (const headers of [
        ...[{ Origin: server.url, "Sec-Fetch-Site": "same-origin" }, { "Sec-Fetch-Site": "none" }, {}],
        ...[address, address.toUpperCase()].map((Host) => ({ Origin: `http://${address}`, Host })),
        // A proxy that terminates TLS without X-Forwarded-Proto.
        { Origin: "https://localhost", Host: "localhost" },
      ]) {
        for (const { what, answer, passed } of await all(headers, "Origin" in headers ? EFFECTS.slice(0, 2) : EFFECTS))
          expect(answer.status, what).to.equal(passed);
      }
    });

    it("does not matter if nothing is changed", async () => {
      const headers = { Origin: APP, "Sec-Fetch-Site": "cross-site" };
      for (const at of ["/v1/queues", "/healthz", "/docs"]) {
        expect((await server.send(at, { headers })).status, at).to.equal(200);
      }
      expect((await server.send("/v1/requests", { method: "OPTIONS", headers })).status).to.equal(200);
    });
  });

  it("can be one that CORS_ORIGINS lists, whatever Sec-Fetch-Site says", async () => {
    server = await startServer({ CORS_ORIGINS: `${APP},http://localhost:5173` });
    try {
      for (const headers of [{ Origin: APP, "Sec-Fetch-Site": "cross-site" }, { Origin: "http://localhost:5173" }]) {
        for (const { what, answer, passed } of await all(headers)) expect(answer.status, what).to.equal(passed);
      }
      await forbidden({ Origin: "https://other.example" });
      await forbidden({ "Sec-Fetch-Site": "cross-site" });
    } finally {
      await server.stop();
    }
  });

  it("is compared with the host and scheme that a trusted proxy forwards", async () => {
    server = await startServer({ TRUST_PROXY: "true" });
    const send = (Origin: string) =>
      server.send("/v1/queues/default/resume", {
        method: "POST",
        headers: { Origin, "X-Forwarded-Host": "tasks.example", "X-Forwarded-Proto": "https" },
      });
    try {
      expect((await send("https://tasks.example")).status).to.equal(200);
      for (const other of ["http://tasks.example", "https://tasks.example:8443", server.url]) {
        expect((await send(other)).status, other).to.equal(403);
      }
    } finally {
      await server.stop();
    }
  });

  it("is checked on servers with keys as well", async () => {
    const keys = testKeys({ root: ["admin"] });
    server = await startServer(keys.env);
    try {
      await forbidden(keys.as("root", { Origin: APP }));
    } finally {
      await server.stop();
    }
  });
});

describe("the key that a browser stores for the dashboard (RFC 7617)", () => {
  const keys = testKeys({ root: ["admin"] });
  const key = keys.as("root").Authorization?.slice("Bearer ".length);
  const basic = { Authorization: `Basic ${Buffer.from(`anyone:${key}`).toString("base64")}` };
  const ours = { "X-Requested-With": "paihao-dashboard" };

  it("reads; it changes something only with the header of our own scripts, which pages of other sites cannot send", async () => {
    const server = await startServer({ ...keys.env, CORS_ORIGINS: "*" });
    const send = (at: string, headers: Record<string, string>, method = "GET") =>
      server.send(at, { method, headers: { ...basic, ...headers } });
    try {
      expect((await send("/v1/queues/default/waiting", {})).status).to.equal(200);
      for (const [method, at, status] of [
        ["POST", "/v1/queues/default/pause", 200],
        ["GET", "/api/v1/task", 200],
        ["GET", "/v1/gateway/nobody/items", 404],
      ] as const) {
        for (const headers of [{}, { Origin: APP }, { Origin: APP, "X-Requested-With": "XMLHttpRequest" }])
          expect((await send(at, headers, method)).json.type, at).to.equal("/problems/unauthenticated");
        expect((await send(at, ours, method)).status, at).to.equal(status);
      }
      const asks = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-requested-with" };
      const asked = await send("/v1/queues/default/pause", { Origin: APP, ...asks }, "OPTIONS");
      // Without this header a browser sends no request that has credentials and needs a preflight.
      expect(asked.headers).not.to.have.property("access-control-allow-credentials");
    } finally {
      await server.stop();
    }
  });
});

describe("HEAD of an allocation", () => {
  it("is safe: it allocates no id (RFC 9110 §9.2.1)", async () => {
    const server = await startServer();
    try {
      const answer = await server.send("/api/v1/task", { method: "HEAD" });
      expect([answer.status, answer.headers.location]).to.deep.equal([200, undefined]);
      expect((await server.send("/api/v1/task?queue=nobody", { method: "HEAD" })).status).to.equal(404);
      expect((await server.send("/api/v1/task")).headers.location).to.match(/^\/api\/v1\/task\/a-/);
    } finally {
      await server.stop();
    }
  });
});
