import { expect } from "chai";
import { LinkSigner } from "../../../src/auth/link-signer.ts";
import { closedGate } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { type Answer, startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

const ASYNC = { Prefer: "respond-async" };
const SIGNED = /\?expires=\d{10}&signature=[A-Za-z0-9_-]{43}$/;
const URL_SIGNING_KEY = "a secret of at least 16 characters";

/** A task and the query that lets others read it. */
interface Shared {
  readonly id: string;
  readonly query: string;
}

describe("signed links (the valet key pattern)", () => {
  const keys = testKeys({ ann: ["submit"], bob: ["submit"] });
  let server: TestServer;
  before(async () => {
    server = await startServer({ ...keys.env, URL_SIGNING_KEY });
  });
  after(() => server.stop());

  const submit = (queue: string, input: unknown, headers = {}) =>
    server.post(queue, input, keys.as("ann", { ...ASYNC, ...headers }));
  const share = async (queue = "default", input: unknown = {}): Promise<Shared> => {
    const answer = await submit(queue, input);
    const id = String(answer.headers["x-request-id"]);
    return { id, query: new URL(String(answer.headers.location), server.url).search };
  };
  const finished = async (): Promise<Shared> => {
    const task = await share();
    await eventually(async () => (await server.send(`/v1/requests/${task.id}${task.query}`)).status === 200);
    return task;
  };
  const link = (answer: Answer, rel: string): string =>
    answer.json.links.find((entry: { rel: string }) => entry.rel === rel).href;

  it("are the Location, Operation-Location, Link and links of a 202, except for the link that cancels", async () => {
    const gate = closedGate();
    const answer = await submit("gated", gate.input);
    const { headers } = answer;
    expect(answer.status).to.equal(202);
    expect(headers.location).to.match(SIGNED);
    expect(headers["operation-location"])
      .to.match(SIGNED)
      .and.match(/^http:\/\//);
    for (const target of String(headers.link).matchAll(/<([^>]*)>/g)) expect(target[1]).to.match(SIGNED);
    expect(answer.json.href).to.equal(headers.location);
    for (const { rel, method, href } of answer.json.links) {
      if (method === "GET") expect(href, rel).to.match(SIGNED);
      else expect(href, rel).not.to.contain("signature");
    }
    gate.open();
  });

  it("read the output of their task, and of no other", async () => {
    const gate = closedGate();
    const { id, query } = await share("gated", gate.input);
    await (await gate.entered).write("one");
    const read = (of: string, search: string) =>
      server.send(`/v1/requests/${of}/output${search}`, { headers: { Prefer: "wait=0" } });
    const own = await read(id, query);
    expect([own.status, own.text]).to.deep.equal([200, '{"seq":0,"run":1,"attempt":1,"data":"one"}\n']);
    expect((await read(id, "")).status).to.equal(401);
    const other = await share();
    expect((await read(other.id, query)).status).to.equal(401);
    gate.open();
  });

  it("are used in every response that has the address of a task", async () => {
    const gate = closedGate();
    const { id } = await share("gated", gate.input);
    const as = (at: string, more = {}) => server.send(at, { headers: keys.as("ann", more) });
    await gate.entered;
    expect((await as(`/v1/requests/${id}`)).headers.location).to.match(SIGNED);
    const monitor = await as(`/v1/requests/${id}/status`);
    expect(monitor.headers.location).to.match(SIGNED);
    expect(link(monitor, "monitor")).to.match(SIGNED);
    gate.open();
    await eventually(async () => (await as(`/v1/requests/${id}/status`)).status === 200);
    expect(link(await as(`/v1/requests/${id}/status`), "result")).to.match(SIGNED);
    expect(link(await as(`/v1/requests/${id}/status`), "delete")).not.to.contain("signature");
    expect((await as(`/v1/requests/${id}/status?onComplete=redirect`)).headers.location).to.match(SIGNED);
    expect((await as(`/v1/requests/${id}/events`)).text).to.match(/\?expires=\d+&signature=/);
    const [{ href }] = await server.batch("default", "{}", "", keys.as("ann"));
    expect(href).to.match(SIGNED);
  });

  it("are used in the response to a synchronous request that took too long", async () => {
    const other = await startServer({ ...keys.env, URL_SIGNING_KEY, SYNC_LIMIT: "20ms" });
    const gate = closedGate();
    try {
      const answer = await other.post("gated", gate.input, keys.as("ann"));
      expect(answer.status).to.equal(504);
      expect((await other.send(String(answer.headers.location))).json.type).to.equal("/problems/pending");
    } finally {
      gate.open();
      await other.stop();
    }
  });

  it("allow reading the result, status and events without a key", async () => {
    const { id, query } = await finished();
    const paths = [
      `/v1/requests/${id}`,
      `/v1/requests/${id}/status`,
      `/v1/queue/requests/${id}`,
      `/v1/requests/${id}/events`,
    ];
    for (const path of paths) {
      expect((await server.send(path + query)).status, path).to.equal(200);
      expect((await server.send(path + query, { method: "HEAD" })).status, path).to.equal(200);
      expect((await server.send(path)).status, path).to.equal(401);
    }
    expect((await server.send(`/v1/requests/${id}/status${query}&onComplete=stream`)).json.id).to.equal(id);
    const page = await server.send(`/v1/requests/${id}/status${query}`, { headers: { Accept: "text/html" } });
    expect([page.status, page.headers["content-type"]?.split(";")[0]]).to.deep.equal([200, "text/html"]);
  });

  it("cannot be renewed without a key that covers the task: responses to them contain the same links", async () => {
    const { id } = await finished();
    const { createdAt } = (await server.send(`/v1/requests/${id}/status`, { headers: keys.as("ann") })).json;
    // With another time than a new one would have.
    const query = new LinkSigner(URL_SIGNING_KEY, 60_000).sign("task", { id, createdMs: Date.parse(createdAt) });
    for (const headers of [{}, keys.as("bob")]) {
      const look = (more: string) => server.send(`/v1/requests/${id}${more}`, { headers });
      expect(link(await look(`/status${query}`), "result")).to.equal(`/v1/requests/${id}${query}`);
      const redirect = await look(`/status${query}&onComplete=redirect`);
      expect(redirect.headers.location).to.equal(`/v1/requests/${id}${query}`);
      const { text } = await look(`/events${query}`);
      expect(new Set(text.match(/\?expires=[^"]*/g))).to.deep.equal(new Set([query]));
    }
    // The owner gets new ones, with a link of any age.
    const own = await server.send(`/v1/requests/${id}/status${query}`, { headers: keys.as("ann") });
    expect(link(own, "result")).to.match(SIGNED);
  });

  it("end with their task: they do not open a later task with the same id", async () => {
    const brief = await startServer({ ...keys.env, URL_SIGNING_KEY, RESULT_TTL: "1ms", TOMBSTONE_TTL: "0s" });
    const gate = closedGate();
    try {
      const headers = { "X-Request-Id": "again", ...ASYNC };
      const first = await brief.post("default", {}, keys.as("ann", headers));
      const { search } = new URL(String(first.headers.location), brief.url);
      const paths = ["/v1/requests/again", "/v1/requests/again/status", "/v1/queue/requests/again"];
      // The task is gone, and the link does not reveal that it existed.
      const mine = { headers: keys.as("ann") };
      await eventually(async () => (await brief.send("/v1/requests/again", mine)).json.type === "/problems/unknown");
      const gone = await brief.send(`/v1/requests/again${search}`);
      const second = await brief.post("gated", gate.input, keys.as("bob", headers));
      expect(second.status).to.equal(202);
      for (const at of [...paths, "/v1/requests/again/events"]) {
        const answer = await brief.send(at + search);
        expect([answer.status, answer.json.type], at).to.deep.equal([401, "/problems/unauthenticated"]);
        expect(answer.text).to.equal(gone.text);
        expect((await brief.send(at + search, mine)).status, at).to.equal(404);
      }
      expect((await brief.send(String(second.headers.location))).json.type).to.equal("/problems/pending");
    } finally {
      gate.open();
      await brief.stop();
    }
  });

  describe("give no access to", () => {
    let mine: Shared;
    let other: Shared;
    before(async () => {
      mine = await finished();
      other = await finished();
    });

    const attempts: readonly [what: string, method: string, at: () => string][] = [
      ["another task", "GET", () => `/v1/requests/${other.id}${mine.query}`],
      ["another task's status", "GET", () => `/v1/requests/${other.id}/status${mine.query}`],
      ["another task's events", "GET", () => `/v1/requests/${other.id}/events${mine.query}`],
      ["another task by a path that climbs", "GET", () => `/v1/requests/${mine.id}%2F..%2F${other.id}${mine.query}`],
      ["canceling or deleting", "DELETE", () => `/v1/requests/${mine.id}${mine.query}`],
      ["submitting under the id", "PUT", () => `/v1/requests/${mine.id}${mine.query}`],
      ["submitting", "POST", () => `/v1/requests${mine.query}`],
      ["running it again", "POST", () => `/v1/requests/${mine.id}/retry${mine.query}`],
      ["the dialect's path of the id", "GET", () => `/api/v1/task/${mine.id}${mine.query}`],
      ["its lease", "POST", () => `/v1/leases/${mine.id}/complete${mine.query}`],
      ["the queues", "GET", () => `/v1/queues${mine.query}`],
      ["a queue of that name", "GET", () => `/v1/queues/${mine.id}${mine.query}`],
      ["the metrics", "GET", () => `/metrics${mine.query}`],
    ];
    it("anything else", async () => {
      for (const [what, method, at] of attempts) {
        const { json } = await server.send(at(), { method });
        expect(json, what).to.include({ status: 401, type: "/problems/unauthenticated" });
        expect((await server.send(`/v1/requests/${mine.id}${mine.query}`)).status, what).to.equal(200);
      }
    });

    it("anything if a part is changed, missing or repeated", async () => {
      const [, expires = "", signature = ""] = /expires=(\d+)&signature=(.*)/.exec(mine.query) ?? [];
      const flipped = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
      const queries = [
        `?expires=${Number(expires) + 1}&signature=${signature}`,
        `?expires=${expires}&signature=${flipped}`,
        `?expires=${expires}&signature=${signature}=`,
        `?expires=${expires}`,
        `?signature=${signature}`,
        `?expires=&signature=`,
        `?expires=${expires}&signature=${flipped}&signature=${signature}`,
        `?expires=9999999999&expires=${expires}&signature=${signature}`,
        `?Expires=${expires}&Signature=${signature}`,
      ];
      for (const query of queries)
        expect((await server.send(`/v1/requests/${mine.id}${query}`)).status, query).to.equal(401);
    });
  });

  it("are valid for the secret of one server, until they expire", async () => {
    const { id, query } = await finished();
    const others = [{ URL_SIGNING_KEY: "quite another secret" }, { URL_SIGNING_KEY: "" }];
    for (const env of others) {
      const other = await startServer({ ...keys.env, ...env, KEY_PREFIX: server.prefix });
      try {
        expect((await other.send(`/v1/requests/${id}${query}`)).status).to.equal(401);
      } finally {
        await other.stop({ keep: true });
      }
    }
    const brief = await startServer({ ...keys.env, URL_SIGNING_KEY, URL_TTL: "1s" });
    try {
      const answer = await brief.post("default", {}, keys.as("ann", ASYNC));
      const at = String(answer.headers.location);
      await eventually(async () => (await brief.send(at)).status === 401);
    } finally {
      await brief.stop();
    }
  });

  it("are not written to the log", () => {
    const log = JSON.stringify(server.log);
    expect(log).to.contain('"path":"/v1/requests/');
    expect(log).not.to.contain("signature");
  });

  it("are not needed without keys, and not made without a secret", async () => {
    const open = await startServer({ URL_SIGNING_KEY });
    const plain = await startServer(keys.env);
    try {
      const answer = await open.post("default", {}, ASYNC);
      expect(answer.headers.location).to.match(SIGNED);
      expect((await open.send(`/v1/requests/${answer.json.id}?expires=1&signature=forged`)).status).to.be.oneOf([
        200, 404,
      ]);
      const unsigned = await plain.post("default", {}, keys.as("ann", ASYNC));
      expect(unsigned.headers.location).to.equal(`/v1/requests/${unsigned.json.id}`);
    } finally {
      await open.stop();
      await plain.stop();
    }
  });

  it("are not passed to the handler as query parameters", async () => {
    const sent = await server.send("/v1/requests?expires=1&signature=x&mine=1", {
      method: "POST",
      headers: keys.as("ann"),
      body: {},
    });
    expect(sent.json.query).to.deep.equal({ mine: "1" });
  });
});
