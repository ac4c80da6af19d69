import { expect } from "chai";
import type { Scope } from "../../../src/auth/api-key.ts";
import type { Api } from "../../../src/http/api.ts";
import { createRouters } from "../../../src/http/app.ts";
import { needOf } from "../../../src/http/security/scopes.ts";
import { networkOf } from "../../../src/http/security/sender.ts";
import { keyAccess, mayEnd, maySee, openAccess } from "../../../src/http/task/access.ts";

const access = (name: string, ...scopes: Scope[]) =>
  keyAccess({ name, scopes: new Set(scopes), hash: Buffer.alloc(32) }, true);

describe("what a route asks for", () => {
  /** The contract's section on security, a line a resource. */
  const table: readonly [need: string, ...requests: string[]][] = [
    ["submit", "POST /v1/requests", "POST /v1/queues/q/requests", "POST /v1/queues/q/batches"],
    ["submit", "PUT /v1/requests/a", "PUT /v1/queues/q/requests/a", "DELETE /v1/requests/a"],
    ["submit", "GET /v1/gateway/q", "DELETE /v1/gateway/q/a/b?c", "OPTIONS /v1/gateway/q/"],
    ["submit", "GET /api/v1/task", "POST /api/v1/task/a", "PUT /api/v1/task/a", "DELETE /api/v1/task/a"],
    ["submit or read", "GET /v1/requests/a", "GET /v1/requests/a/status", "GET /v1/requests/a/events"],
    ["submit or read", "HEAD /v1/requests/a", "GET /v1/queue/requests/a", "GET /api/v1/task/a", "GET /v1/requests/a/"],
    ["admin", "GET /v1/queues/q/waiting", "GET /v1/queues/q/running", "GET /v1/queues/q/dead"],
    ["admin", "DELETE /v1/queues/q/dead", "POST /v1/queues/q/dead/retry", "POST /v1/requests/a/retry"],
    ["admin", "POST /v1/queues/q/pause", "POST /v1/queues/q/resume", "GET /metrics", "GET /dashboard"],
    ["work", "POST /v1/queues/q/leases", "POST /v1/leases/a/renew", "POST /v1/leases/a/progress"],
    ["work", "POST /v1/leases/a/complete", "POST /v1/leases/a/fail"],
    ["any", "GET /v1/queues", "GET /v1/queues/q"],
    ["none", "GET /healthz", "GET /readyz", "GET /openapi.json", "GET /docs", "GET /docs/swagger-ui.css"],
    ["none", "GET /problems/unknown", "GET /pages/task.js"],
  ];
  for (const [need, ...requests] of table) {
    it(`${need}: ${requests.join(", ")}`, () => {
      for (const request of requests) {
        const [method = "", path = ""] = request.split(/[ ?]/);
        const scopes = needOf(method, path)?.scopes;
        expect(typeof scopes === "string" ? scopes : scopes?.join(" or "), request).to.equal(need);
      }
    });
  }

  it("is listed for every route that there is: another one would be for admins alone", () => {
    const routers = createRouters({ stopping: new AbortController().signal, handlers: new Map() } as unknown as Api);
    const layers = routers.flatMap(({ stack }) => stack);
    const paths = layers.flatMap(({ methods, path }) => methods.map((method) => `${method} ${String(path)}`));
    expect(paths).to.include("GET /v1/requests/:id");
    const listed = (route: string) => {
      const [method = "", path = ""] = route.split(" ");
      return needOf(method, path.replace(/\{?\/?\*\w+\}?/, "/a/b").replace(/:\w+/g, "x")) !== undefined;
    };
    expect(paths.filter((route) => !listed(route))).to.deep.equal([]);
  });

  it("is something a signed link can be enough for where one task is read, and nowhere else", () => {
    const readable = table
      .flatMap(([, ...requests]) => requests)
      .filter((request) => {
        const [method = "", path = ""] = request.split(/[ ?]/);
        return needOf(method, path)?.reads !== undefined;
      });
    expect(readable).to.have.members([
      "GET /v1/requests/a",
      "HEAD /v1/requests/a",
      "GET /v1/requests/a/",
      "GET /v1/requests/a/status",
      "GET /v1/requests/a/events",
      "GET /v1/queue/requests/a",
    ]);
    expect(needOf("GET", "/v1/queue/requests/a")?.reads).to.equal("a");
  });

  it("is not found by a path that only looks like one", () => {
    for (const path of [
      "/v1/requests/a/b",
      "//v1/requests/a",
      "/v1/requests/a/status/x",
      "/V1/requests",
      "/docsx",
      "/",
    ]) {
      expect(needOf("GET", path), path).to.equal(undefined);
    }
  });
});

describe("what a key sees of tasks", () => {
  const mine = { id: "a", caller: "ci", createdMs: 1 };
  const others = { id: "b", caller: "ops", createdMs: 1 };
  const nobodys = { id: "c", caller: null, createdMs: 1 };
  const seen = (by: ReturnType<typeof access>) => [mine, others, nobodys].map((task) => maySee(by, task));
  const ended = (by: ReturnType<typeof access>) => [mine, others, nobodys].map((task) => mayEnd(by, task));

  it("submit: its own, to read and to end", () => {
    expect(seen(access("ci", "submit"))).to.deep.equal([true, false, false]);
    expect(ended(access("ci", "submit"))).to.deep.equal([true, false, false]);
  });

  it("read: all, to read alone", () => {
    expect(seen(access("ci", "read"))).to.deep.equal([true, true, true]);
    expect(ended(access("ci", "read"))).to.deep.equal([false, false, false]);
  });

  it("admin: everything", () => {
    expect(seen(access("x", "admin"))).to.deep.equal([true, true, true]);
    expect(ended(access("x", "admin"))).to.deep.equal([true, true, true]);
  });

  it("work: none, not even those of its name", () => {
    expect(seen(access("ci", "work"))).to.deep.equal([false, false, false]);
    expect(ended(access("ci", "work"))).to.deep.equal([false, false, false]);
  });

  it("no key: none where there are keys, all where there are not", () => {
    expect(seen(keyAccess(undefined, false))).to.deep.equal([false, false, false]);
    expect(seen(openAccess())).to.deep.equal([true, true, true]);
    expect(ended(openAccess())).to.deep.equal([true, true, true]);
  });
});

describe("where a request comes from", () => {
  it("is an address of IPv4, however it is written", () => {
    expect(networkOf("192.0.2.7")).to.equal("192.0.2.7");
    expect(networkOf("::ffff:192.0.2.7")).to.equal("192.0.2.7");
  });

  it("is a network of IPv6: one customer has all addresses of it", () => {
    expect(networkOf("2001:db8:1:2:3:4:5:6")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("2001:db8:1:2::1")).to.equal("2001:db8:1:2::/64");
    expect(networkOf("::1")).to.equal("0:0:0:0::/64");
  });

  it("is unknown where a header says no address", () => {
    for (const text of ["", "unknown", "a b", "1.2.3", "{x}"]) expect(networkOf(text)).to.equal("unknown");
  });
});
