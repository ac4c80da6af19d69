import { expect } from "chai";
import { type Route, routeOf } from "../../src/http/route.ts";
import { matched } from "../helpers/http/matched.ts";

const findRoute = (method: string, path: string): Route | undefined => routeOf(matched(method, path));

describe("what a route requires", () => {
  /** The contract's section on security, a line a resource. */
  const table: readonly [need: string, ...requests: string[]][] = [
    ["submit", "POST /v1/requests", "POST /v1/queues/q/requests", "POST /v1/queues/q/batches"],
    ["submit", "PUT /v1/requests/a", "PUT /v1/queues/q/requests/a", "DELETE /v1/requests/a"],
    ["submit", "GET /v1/gateway/q", "DELETE /v1/gateway/q/a/b?c", "OPTIONS /v1/gateway/q/"],
    ["submit", "GET /api/v1/task", "POST /api/v1/task/a", "PUT /api/v1/task/a", "DELETE /api/v1/task/a"],
    ["submit or read", "GET /v1/requests/a", "GET /v1/requests/a/status", "GET /v1/requests/a/events"],
    ["submit or read", "GET /v1/requests/a/timeline", "GET /v1/requests/a/input", "GET /v1/requests/a/output"],
    ["submit or read", "HEAD /v1/requests/a", "GET /v1/queue/requests/a", "GET /api/v1/task/a", "GET /v1/requests/a/"],
    ["read", "GET /v1/queues/q/waiting", "GET /v1/queues/q/running", "GET /v1/queues/q/dead", "GET /v1/workers"],
    ["read", "GET /v1/queues/q/scheduled", "GET /v1/queues/q/finished"],
    ["admin", "DELETE /v1/queues/q/dead", "POST /v1/queues/q/dead/retry", "POST /v1/requests/a/retry"],
    ["admin", "POST /v1/queues/q/pause", "POST /v1/queues/q/resume", "POST /v1/queues/q/bulk", "GET /metrics"],
    ["work", "POST /v1/queues/q/leases", "POST /v1/leases/a/renew", "POST /v1/leases/a/progress"],
    ["work", "POST /v1/leases/a/complete", "POST /v1/leases/a/fail"],
    ["any", "GET /v1/queues", "GET /v1/queues/q"],
    ["none", "GET /healthz", "GET /readyz", "GET /openapi.json", "GET /docs"],
    ["none", "GET /", "GET /favicon.ico", "GET /problems/unknown", "GET /pages/dashboard-ABCDEFGH.js"],
    ["read", "GET /dashboard", "GET /dashboard/queues/q", "GET /dashboard/tasks/a%2Fb"],
  ];
  for (const [need, ...requests] of table) {
    it(`${need}: ${requests.join(", ")}`, () => {
      for (const request of requests) {
        const [method = "", path = ""] = request.split(/[ ?]/);
        const scopes = findRoute(method, path)?.scopes;
        expect(typeof scopes === "string" ? scopes : scopes?.join(" or "), request).to.equal(need);
      }
    });
  }

  it("can be a signed link only for reading one task", () => {
    const readable = table
      .flatMap(([, ...requests]) => requests)
      .filter((request) => {
        const [method = "", path = ""] = request.split(/[ ?]/);
        return findRoute(method, path)?.signedLink !== undefined;
      });
    expect(readable).to.have.members([
      "GET /v1/requests/a",
      "HEAD /v1/requests/a",
      "GET /v1/requests/a/",
      "GET /v1/requests/a/status",
      "GET /v1/requests/a/events",
      "GET /v1/requests/a/output",
      "GET /v1/queue/requests/a",
    ]);
    expect(matched("GET", "/v1/queue/requests/a").params?.id).to.equal("a");
  });

  it("is not found for a path that only looks similar", () => {
    for (const path of ["/v1/requests/a/b", "//v1/requests/a", "/v1/requests/a/status/x", "/V1/requests", "/docsx"]) {
      expect(findRoute("GET", path), path).to.equal(undefined);
    }
  });
});
