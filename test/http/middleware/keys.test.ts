import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { formatApiKey, parseApiKey } from "../../../src/auth/api-key.ts";
import { appendKey, revokeKey } from "../../../src/auth/key-file.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const ASYNC = { Prefer: "respond-async" };

describe("API keys", () => {
  const keys = testKeys({
    ann: ["submit"],
    bob: ["submit"],
    eve: ["submit", "read"],
    watch: ["read"],
    root: ["admin"],
    arm: ["work"],
    idle: ["read"],
  });
  let server: TestServer;
  before(async () => {
    server = await startServer(keys.env);
  });
  after(() => server.stop());

  const get = (at: string, headers = {}) => server.send(at, { headers });
  const submit = async (headers: Record<string, string>, input: unknown = {}, queue = "default") =>
    String((await server.post(queue, input, { ...ASYNC, ...headers })).headers["x-request-id"]);
  const problem = (answer: Answer) => [answer.status, answer.json.type];

  describe("authentication (RFC 6750)", () => {
    it("accepts the scheme in any case, with any number of spaces (RFC 9110 §11.1)", async () => {
      const { Authorization } = keys.as("ann");
      for (const scheme of ["bearer", "BEARER", "Bearer  "]) {
        const answer = await get("/v1/queues", { Authorization: Authorization?.replace("Bearer", scheme) });
        expect(answer.status, scheme).to.equal(200);
      }
    });

    it("refuses an invalid key with invalid_token", async () => {
      const { Authorization = "" } = keys.as("ann");
      const key = Authorization.slice("Bearer ".length);
      const hash = keys.lines[0]?.split(":")[2];
      const missing = await get("/v1/queues");
      expect(missing.headers["www-authenticate"], "names no error").to.equal('Bearer realm="paihao"');
      const wrong = [key.slice(1), `${key}A`, hash, "a b"].map((value) => `Bearer ${value}`);
      wrong.push(`Basic ${key}`, key, "Bearer");
      for (const value of wrong) {
        const answer = await get("/v1/queues", { Authorization: value });
        expect(problem(answer), value).to.deep.equal([401, "/problems/unauthenticated"]);
        expect(answer.headers["www-authenticate"], value).to.equal('Bearer realm="paihao", error="invalid_token"');
        expect(answer.text).not.to.contain(key);
      }
    });

    it("does not accept a key in the query, where it would end up in logs and histories (RFC 6750 §5.3)", async () => {
      const key = keys.as("ann").Authorization?.slice("Bearer ".length);
      expect((await get(`/v1/queues?access_token=${key}&key=${key}`)).status).to.equal(401);
    });

    it("logs the name of the key, passes it to the handler, and never logs a key or its hash", async () => {
      expect((await server.post("caller", {}, keys.as("ann"))).json).to.equal("ann");
      const callers = server.log.filter(({ msg }) => msg === "request").map(({ caller }) => caller);
      expect(callers).to.include.members([undefined, "ann"]);
      const log = JSON.stringify(server.log);
      for (const name of ["ann", "root"] as const) {
        expect(log).not.to.contain(keys.as(name).Authorization?.slice("Bearer ".length));
      }
      for (const line of keys.lines) expect(log).not.to.contain(line.split(":")[2]);
    });
  });

  describe("paths without a key", () => {
    it("are health, problems and unknown paths", async () => {
      for (const at of ["/healthz", "/readyz", "/problems/unknown"]) expect((await get(at)).status, at).to.equal(200);
      expect(problem(await get("/nowhere"))).to.deep.equal([404, "/problems/not-found"]);
      const wrongMethod = await server.send("/v1/queues", { method: "PATCH" });
      expect(problem(wrongMethod)).to.deep.equal([405, "/problems/method-not-allowed"]);
    });
  });

  describe("the scopes of each route", () => {
    const table: readonly [method: string, at: string, needs: string, allowed: readonly string[]][] = [
      ["POST", "/v1/requests", "submit", ["ann", "eve", "root"]],
      ["GET", "/v1/requests/nobody", "submit or read", ["ann", "eve", "watch", "root"]],
      ["GET", "/v1/history", "", ["ann", "bob", "eve", "watch", "root", "arm"]],
      ["GET", "/dashboard/queues/default", "read", ["eve", "watch", "root"]],
      ["GET", "/v1/requests/nobody/input", "submit or read", ["ann", "eve", "watch", "root"]],
      ["POST", "/v1/queues/default/bulk", "admin", ["root"]],
      ["GET", "/metrics", "admin", ["root"]],
      ["GET", "/v1/keys", "admin", ["root"]],
      ["POST", "/v1/leases/nobody/renew", "work", ["arm", "root"]],
      ["GET", "/v1/queues", "any", ["ann", "eve", "watch", "root", "arm"]],
    ];
    for (const [method, at, needs, allowed] of table) {
      it(`${method} ${at}: ${allowed.join(", ")} (${needs})`, async () => {
        expect((await server.send(at, { method })).status, "nobody").to.equal(401);
        for (const name of ["ann", "eve", "watch", "root", "arm"] as const) {
          const answer = await server.send(at, { method, headers: keys.as(name) });
          if (allowed.includes(name)) {
            expect(answer.status, name).not.to.be.oneOf([401, 403, 500]);
          } else {
            expect(problem(answer), name).to.deep.equal([403, "/problems/forbidden"]);
            expect(answer.json.detail).to.equal(`This needs an API key with the scope ${needs}.`);
            expect(answer.headers["www-authenticate"]).to.match(/error="insufficient_scope", scope="\w+"$/);
          }
        }
      });
    }
  });

  it("tells in which hour each was last used with any process, and never a hash", async () => {
    const hourMs = 3_600_000;
    const beforeMs = Date.now();
    await get("/v1/queues", keys.as("ann"));
    const other = await startServer({ ...keys.env, KEY_PREFIX: server.prefix });
    try {
      const list = () => other.send("/v1/keys", { headers: keys.as("root") });
      const uses = async () =>
        new Map<string, string | null>(
          (await list()).json.items.map(({ name, lastUsedAt }: Record<string, string | null>) => [name, lastUsedAt]),
        );
      // That of the administrator is used with the other process only.
      await eventually(async () => (await uses()).get("ann") !== null && (await uses()).get("root") !== null);
      const atMs = Date.parse((await uses()).get("ann") ?? "");
      expect(atMs % hourMs).to.equal(0);
      expect(atMs).to.be.within(beforeMs - hourMs, Date.now());
      expect((await uses()).get("idle"), "never used").to.equal(null);
      const { json, text } = await list();
      expect(json.items[0])
        .to.include({ name: "ann", expiresAt: null })
        .and.deep.include({ scopes: ["submit"] });
      for (const line of keys.lines) expect(text).not.to.contain(line.split(":")[2]?.slice(0, 8));
    } finally {
      await other.stop();
    }
  });

  describe("tasks of other callers", () => {
    let id: string;
    before(async () => {
      id = await submit(keys.as("ann"), { secret: 1 });
      await eventually(async () => (await get(`/v1/requests/${id}`, keys.as("ann"))).status === 200);
    });

    const ways: readonly [method: string, at: (id: string) => string, accept?: string][] = [
      ["GET", (task) => `/v1/requests/${task}/status`, "text/html"],
      ["GET", (task) => `/v1/requests/${task}`],
      ["GET", (task) => `/v1/requests/${task}/status`],
      ["GET", (task) => `/v1/queue/requests/${task}`],
      ["GET", (task) => `/v1/requests/${task}/status?onComplete=stream`],
      ["GET", (task) => `/v1/requests/${task}/status?onComplete=redirect`],
      ["GET", (task) => `/v1/requests/${task}/status?onPending=synchronous`],
      ["GET", (task) => `/v1/requests/${task}/events`],
      ["DELETE", (task) => `/v1/requests/${task}`],
    ];
    it("get the same response, or page, as unknown ones, and are still there afterwards", async () => {
      const names = (answer: Answer) => Object.keys(answer.headers);
      for (const [method, at, Accept = "application/json"] of ways) {
        const ask = (task: string) => server.send(at(task), { method, headers: keys.as("bob", { Accept }) });
        const [foreign, unheard] = [await ask(id), await ask("no-such-task")];
        expect(foreign.status, at(id)).to.equal(404);
        if (Accept !== "text/html") expect(foreign.json.type, at(id)).to.equal("/problems/unknown");
        expect(foreign.text.replaceAll(id, "no-such-task")).to.equal(unheard.text);
        expect(names(foreign)).to.deep.equal(names(unheard));
      }
      expect((await get(`/v1/requests/${id}`, keys.as("ann"))).json.input).to.deep.equal({ secret: 1 });
    });

    it("can be seen but not canceled with read, and both with admin", async () => {
      const watched = await get(`/v1/requests/${id}/status`, keys.as("watch"));
      expect([watched.status, watched.json.state]).to.deep.equal([200, "succeeded"]);
      expect((await get(`/v1/requests/${id}`, keys.as("eve"))).status).to.equal(200);
      const refused = await server.send(`/v1/requests/${id}`, { method: "DELETE", headers: keys.as("eve") });
      expect(problem(refused)).to.deep.equal([403, "/problems/forbidden"]);
      const other = await submit(keys.as("ann"));
      expect(
        (await server.send(`/v1/requests/${other}`, { method: "DELETE", headers: keys.as("root") })).status,
      ).to.be.oneOf([200, 204]);
    });

    it("have ids that are taken: 409, which reveals neither the queue nor whether the input is the same", async () => {
      const again = (queue: string, input: unknown, name: "bob" | "root") =>
        server.post(queue, input, keys.as(name, { ...ASYNC, "X-Request-Id": id }));
      const answers = [
        await again("default", { secret: 1 }, "bob"),
        await again("default", { secret: 2 }, "bob"),
        await again("answers", { kind: "json" }, "bob"),
        await again("default", { secret: 1 }, "root"),
        await server.send(`/v1/requests/${id}`, { method: "PUT", headers: keys.as("bob"), body: { secret: 1 } }),
      ];
      for (const answer of answers) {
        expect(problem(answer)).to.deep.equal([409, "/problems/id-conflict"]);
        expect(answer.json).to.have.all.keys("type", "title", "status");
        expect(answer.text).to.equal(answers[0]?.text);
        expect(answer.headers).not.to.have.any.keys("location", "x-task-state", "idempotent-replayed");
      }
    });

    it("do not share an Idempotency-Key: each caller has its own", async () => {
      const by = async (name: "ann" | "bob") => {
        const answer = await server.post("default", { by: name }, keys.as(name, { ...ASYNC, "Idempotency-Key": "k1" }));
        return [answer.status, answer.headers["x-request-id"], answer.headers["idempotent-replayed"]];
      };
      const [ann, bob, again] = [await by("ann"), await by("bob"), await by("ann")];
      expect(ann[0]).to.equal(202);
      expect(bob[0]).to.equal(202);
      expect(bob[1]).not.to.equal(ann[1]);
      expect(again.slice(1)).to.deep.equal([ann[1], "true"]);
    });
  });
});

describe("tasks of a server that has been given keys", () => {
  it("are unknown to keys that can only submit, if submitted before", async () => {
    const open = await startServer();
    const id = await open.enqueue("default", {});
    await open.until(id, "succeeded");
    await open.stop({ keep: true });
    const keys = testKeys({ ann: ["submit"], watch: ["read"] });
    const server = await startServer({ ...keys.env, KEY_PREFIX: open.prefix });
    try {
      expect((await server.send(`/v1/requests/${id}`, { headers: keys.as("ann") })).status).to.equal(404);
      expect((await server.send(`/v1/requests/${id}`, { headers: keys.as("watch") })).status).to.equal(200);
    } finally {
      await server.stop();
    }
  });
});

describe("a file of keys", () => {
  it("admits and revokes keys while the server runs, which is an event, and logs whose key it refuses", async () => {
    const dir = mkdtempSync(path.join(tmpdir(), "paihao-keys-"));
    const file = path.join(dir, "keys");
    const keys = testKeys({ ann: ["submit"], bob: ["submit"], eve: ["read"] });
    const [ann = "", bob = "", eve = ""] = keys.lines;
    const soonMs = Date.now() + 4000;
    const dave = formatApiKey({ ...parseApiKey(eve), name: "dave", hash: Buffer.alloc(32), expiresMs: soonMs });
    writeFileSync(file, `# who may\n${ann}\n${eve}\n${dave}\n`);
    const server = await startServer({ API_KEYS_FILE: file });
    const status = async (name: "ann" | "bob") => (await server.send("/v1/queues", { headers: keys.as(name) })).status;
    try {
      expect([await status("ann"), await status("bob")]).to.deep.equal([200, 401]);
      appendKey(file, parseApiKey(bob));
      revokeKey(file, "ann");
      await eventually(async () => (await status("ann")) === 401);
      expect(await status("bob")).to.equal(200);
      const events = async () => (await server.send("/v1/events", { headers: keys.as("eve") })).json.items;
      const told = async () =>
        (await events())
          .filter(({ kind }: { kind: string }) => kind.startsWith("key-"))
          .map(({ kind, detail }: { kind: string; detail: string }) => `${kind} ${detail}`);
      await eventually(async () => (await told()).length === 3);
      expect(await told()).to.have.members(["key-added bob", "key-removed ann", "key-expired dave"]);
      const refused = server.log.filter(({ status: code }) => code === 401).map(({ refused: why }) => why);
      expect(refused.at(-1)).to.equal(`unknown, its hash begins with ${ann.split(":")[2]?.slice(0, 8)}`);
    } finally {
      await server.stop();
      rmSync(dir, { recursive: true });
    }
  });
});
