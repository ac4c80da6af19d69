import { expect } from "chai";
import { PaihaoClient } from "../../../src/client/index.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { verdictsOf } from "../../helpers/http/batch.ts";
import { readEvents } from "../../helpers/http/events.ts";
import { type Answer, exchange, type Sent, startServer, type TestServer } from "../../helpers/http/server.ts";
import { hasNginx, type Nginx, startNginx } from "../../helpers/nginx.ts";

/** Everything that a link of ours may begin with. */
const OURS =
  /(?<=["<'(\s]|https?:\/\/[\w.:]+|^)\/(?:v1|api\/v1|problems|replicate|pages|dashboard|docs|favicon\.ico|openapi\.json)\b/;

/** The links in an answer that do not lead below the path. */
function astray({ headers, text }: Pick<Answer, "headers" | "text">): string[] {
  const heads = ["location", "operation-location", "link"].map((name) => String(headers[name] ?? ""));
  return [...heads, text].flatMap((where) => OURS.exec(where.replaceAll("/tasks/", "|/"))?.slice(0, 1) ?? []);
}

const NDJSON = { "Content-Type": "application/x-ndjson" };
const ASYNC = { Prefer: "respond-async" };

describe("a server below a path (X-Forwarded-Prefix)", () => {
  const keys = testKeys({ ann: ["admin"] });
  let server: TestServer;
  let nginx: Nginx;
  before(async function () {
    if (!hasNginx) return this.skip();
    server = await startServer({
      ...keys.env,
      ...{ TRUST_PROXY: "true", REPLICATE: "true", URL_SIGNING_KEY: "a secret of at least 16 characters" },
    });
    nginx = await startNginx(`location /tasks/ {
      proxy_pass ${server.url}/;
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header X-Forwarded-Prefix /tasks;
      proxy_set_header X-Forwarded-Host $http_host;
    }`);
  });
  after(async () => {
    await nginx?.stop();
    await server?.stop();
  });

  const send = async (path: string, sent: Sent = {}): Promise<Answer> => {
    const headers = keys.as("ann", sent.headers as Record<string, string>);
    const answer = await exchange(new URL(path, nginx.url), { ...sent, headers, contract: false });
    expect(astray(answer), `${path} ${answer.text}`).to.deep.equal([]);
    return answer;
  };
  /** Follows a link as it is, without a key, as a caller who has nothing else. */
  const follow = (link: string) => exchange(new URL(link, nginx.url), { contract: false });
  const post = (queue: string, body: unknown, headers = {}) =>
    send(`/tasks/v1/queues/${queue}/requests`, { method: "POST", headers, body });

  it("has it in every link of a task, absolute and signed ones too", async () => {
    const accepted = await post("default", 1, ASYNC);
    const { location = "", "operation-location": operation = "", link = "" } = accepted.headers;
    expect(location).to.match(/^\/tasks\/v1\/requests\/[\w-]+\?expires=/);
    expect(operation).to.match(new RegExp(`^${nginx.url}/tasks/v1/requests/[\\w-]+/status\\?expires=`));
    const others = [...String(link).matchAll(/<(.*?)>/g)].map(([, href = ""]) => href);
    const hrefs = accepted.json.links.map(({ href }: { href: string }) => href);
    const { id } = accepted.json;
    expect((await send(`/tasks/v1/requests/${id}/status?onPending=synchronous&onComplete=redirect`)).status).to.equal(
      303,
    );
    for (const to of [location, String(operation), accepted.json.href, ...others, ...hrefs.slice(0, 3)]) {
      const answer = await follow(to);
      expect(answer.status, to).to.be.oneOf([200, 204]);
      expect(astray(answer), to).to.deep.equal([]);
    }
    const events = await readEvents(`${nginx.url}/tasks/v1/requests/${id}/events`, keys.as("ann"));
    expect(astray({ headers: {}, text: JSON.stringify(await events.next()) })).to.deep.equal([]);
    events.close();
    for (const path of ["", "/status", "/timeline"]) await send(`/tasks/v1/requests/${id}${path}`);
    const again = await send(`/tasks/v1/requests/${id}/again`, { method: "POST", headers: ASYNC });
    expect(again.headers.link).to.contain(`</tasks/v1/requests/${id}?`);
    await send("/tasks/v1/queues/default/finished");
  });

  it("has it in the links of groups, batches, schedules, allocated ids and predictions", async () => {
    const lines = { method: "POST", headers: NDJSON, body: "1\n{" };
    const group = await send("/tasks/v1/queues/default/batches?group=true", lines);
    expect(group.headers.location).to.match(/^\/tasks\/v1\/groups\//);
    const [{ href }, { problem }] = verdictsOf(group.text);
    expect(href).to.match(/^\/tasks\/v1\/requests\//);
    expect(problem.type).to.equal("/tasks/problems/malformed-json");
    const shown = await follow(String(group.headers.location));
    for (const { rel, href } of shown.json.links.slice(0, 3))
      expect((await follow(href)).status, `${rel} ${href}`).to.equal(200);
    const results = await send(`/tasks/v1/groups/${shown.json.id}/results?follow=true`);
    expect(results.text).to.contain('"line":0');

    const schedule = { method: "PUT", body: { queue: "default", every: "1h", input: 1 } };
    const scheduled = await send("/tasks/v1/schedules/hourly", schedule);
    expect(scheduled.headers.location).to.equal("/tasks/v1/schedules/hourly");
    await send("/tasks/v1/schedules/hourly/run", { method: "POST" });

    const allocated = await send("/tasks/api/v1/task");
    expect(allocated.headers.location).to.equal(`/tasks/api/v1/task/${allocated.json.id}`);
    expect((await send(String(allocated.headers.location), { method: "POST", body: 1 })).status).to.equal(202);

    const body = { version: "default", input: { a: 1 } };
    const predicted = await send("/tasks/replicate/v1/predictions", {
      method: "POST",
      headers: { Prefer: "wait" },
      body,
    });
    expect(predicted.json.urls.get).to.equal(`${nginx.url}/tasks/replicate/v1/predictions/${predicted.json.id}`);
    expect((await send(predicted.json.urls.get)).status).to.equal(200);
  });

  it("has it in the type of every problem, which explains it, and its clients know the code", async () => {
    const failed = await post("failing", {});
    for (const path of [
      "/tasks/v1/requests/nobody",
      "/tasks/nowhere",
      "/tasks/v1/queues/x",
      `/tasks/v1/requests/${failed.headers["x-request-id"]}`,
    ]) {
      const { json } = await send(path);
      expect(json.type, path).to.match(/^\/tasks\/problems\/[\w-]+$/);
      expect((await follow(json.type)).json.type).to.equal(json.type);
    }
    const client = new PaihaoClient({ url: `${nginx.url}/tasks`, key: keys.as("ann").Authorization?.split(" ")[1] });
    expect((await client.status("nobody").catch((error: unknown) => error)) as object).to.include({ code: "unknown" });
    expect(await client.run("default", 3)).to.deep.include({ input: 3 });
    const { json } = await post("default", 4, ASYNC);
    for (const link of [json.href, nginx.url + json.href])
      expect(await client.result(link)).to.deep.include({ input: 4 });
  });

  it("has it in pages, what they load, and where the API reference sends requests", async () => {
    const { headers } = await post("default", 1, { ...ASYNC, "X-Request-Id": "shown" });
    const html = { headers: { Accept: "text/html" } };
    for (const path of [
      "/tasks/",
      "/tasks/dashboard",
      "/tasks/docs",
      "/tasks/problems/unknown",
      "/tasks/v1/requests/shown/status",
      "/tasks/v1/requests/shown/status?embed=true",
    ]) {
      const page = await send(path, html);
      expect(page.headers["content-type"], path).to.match(/^text\/html/);
      const loaded = [...page.text.matchAll(/(?:src|href)="(.*?)"/g)].map(([, at = ""]) => at.replaceAll("&amp;", "&"));
      expect(loaded.length, path).to.be.above(1);
      for (const at of loaded)
        expect(
          (await exchange(new URL(at, nginx.url), { headers: keys.as("ann", html.headers), contract: false })).status,
          at,
        ).to.equal(200);
    }
    expect(headers.location).to.contain("/tasks/");
    const { json } = await exchange(new URL("/tasks/openapi.json", nginx.url), { contract: false });
    expect(json.servers).to.deep.equal([{ url: "/tasks" }]);
  });

  it("has it in the links of leases", async () => {
    const api = await startServer({ ROLE: "api", TRUST_PROXY: "true" });
    await api.enqueue("default", 1);
    const headers = { "X-Forwarded-Prefix": "/tasks" };
    const { json } = await api.send("/v1/queues/default/leases", { method: "POST", headers, body: {} });
    expect(json.items[0].links).to.have.length(5);
    for (const { href } of json.items[0].links) expect(href).to.match(/^\/tasks\/v1\/leases\//);
    await api.stop();
  });

  it("ignores a path that is not safe, and that of a peer that is not trusted", async () => {
    const locationOf = async (of: TestServer, prefix: string) => {
      const headers = { ...keys.as("ann", ASYNC), "X-Forwarded-Prefix": prefix };
      const { headers: got } = await of.send("/v1/queues/default/requests?delay=600", {
        method: "POST",
        headers,
        body: 1,
      });
      return String(got.location).replace(/\/v1\/.*/, "");
    };
    for (const safe of ["/a", "/a/b-c_d.e~9", "/a/"])
      expect(await locationOf(server, safe)).to.equal(safe.replace(/\/$/, ""));
    for (const unsafe of [
      "a",
      "//evil.example",
      "/a//b",
      "/..",
      "/a/../b",
      "/.",
      "/a b",
      "/a?b",
      "/a#b",
      "/%2e%2e",
      "/a\\b",
      '/"><script>',
      "/a, /b",
      "/",
      `/${"a".repeat(256)}`,
    ])
      expect(await locationOf(server, unsafe), unsafe).to.equal("");
    const open = await startServer(keys.env);
    expect(await locationOf(open, "/tasks")).to.equal("");
    await open.stop();
  });
});
