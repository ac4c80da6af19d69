import { expect } from "chai";
import { closedGate, openGates } from "../../helpers/gates.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";
import { modernClient, olderClient, post, type Response, startTools } from "./client.ts";

const keys = testKeys({ one: ["submit"], other: ["submit"], reader: ["read"], worker: ["work"] });
const textOf = ({ result }: Response): string => result.content[0].text;

describe("queues as tools", () => {
  let server: TestServer;
  before(async () => {
    server = await startTools();
  });
  after(() => server.stop());
  afterEach(openGates);

  it("are those that take JSON: with description and schema, and no gateway, no turns, none that says tool: false", async () => {
    const { result } = await modernClient(server)("tools/list");
    const tools = new Map<string, { description: string; inputSchema: object }>(
      result.tools.map((tool: { name: string }) => [tool.name, tool]),
    );
    expect([...tools.keys()]).to.include.members(["greet", "word", "check_task"]);
    expect(["hidden", "picture", "api", "gpu"].filter((name) => tools.has(name))).to.eql([]);
    expect(tools.get("greet")?.description).to.equal("Greets somebody.");
    expect(tools.get("greet")?.inputSchema).to.deep.include({ type: "object", required: ["name"] });
    expect(tools.get("word")?.inputSchema, "an input that is no object is one argument").to.deep.include({
      properties: { input: { type: "string" } },
    });
    expect((await olderClient(server)("tools/list")).result.tools).to.have.length(tools.size);
  });

  it("give what their handlers return: text, JSON, bytes by their type, a link to what is long", async () => {
    const call = modernClient(server, {}, {});
    const of = async (name: string, given: object = {}) =>
      (await call("tools/call", { name, arguments: given })).result;
    expect((await of("greet", { name: "World" })).content).to.eql([{ type: "text", text: "Hello, World!" }]);
    expect((await of("word", { input: "hm" })).structuredContent).to.equal("HM");
    expect(await of("slow_compute", { seconds: 0 })).to.deep.include({
      structuredContent: { seconds: 0 },
      content: [{ type: "text", text: '{"seconds":0}' }],
    });
    const types = ["test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource"];
    const contents = await Promise.all(types.map((name) => of(name)));
    expect(contents.map(({ content }) => content[0].type)).to.eql(["text", "image", "audio", "resource"]);
    const { content } = await of("long");
    expect(content[1]).to.include({ type: "resource_link", size: 100_002 });
    expect((await (await fetch(content[1].uri)).json()) as string).to.have.length(100_000);
    expect((await of("nothing")).content[0].text).to.equal("Done, without a result.");
    // A client that takes no events.
    const headers = { Accept: "application/json" };
    const plain = await call("tools/call", { name: "greet", arguments: { name: "you" } }, { headers });
    expect([plain.headers.get("content-type"), textOf(plain)]).to.eql([
      "application/json; charset=utf-8",
      "Hello, you!",
    ]);
  });

  it("tell a model what went wrong, and never what the handler threw", async () => {
    for (const call of [modernClient(server), olderClient(server)]) {
      const wrong = await call("tools/call", { name: "greet", arguments: { name: 3 } });
      expect([wrong.status, wrong.result.isError, textOf(wrong)]).to.eql([
        200,
        true,
        "#/name: Invalid input: expected string, received number",
      ]);
      const gaveUp = await call("tools/call", { name: "test_error_handling" });
      expect([gaveUp.result.isError, textOf(gaveUp)]).to.eql([true, "task-failed: This tool always fails."]);
    }
    const { message, result } = await olderClient(server)("tools/call", { name: "failing_job" });
    expect(result.isError).to.equal(true);
    expect(JSON.stringify(message)).not.to.include("secret");
  });

  it("tell the place of a call that is held, in figures only", async () => {
    const [first, second] = [closedGate(), closedGate()];
    await server.enqueue("gated", first.input);
    await first.entered;
    const _meta = { progressToken: "p" };
    const call = olderClient(server)("tools/call", { name: "gated", arguments: second.input, _meta });
    await eventually(async () => (await server.send("/v1/queues/gated")).json.waiting === 1);
    first.open(1);
    await second.entered;
    second.open({ n: 2 });
    const { result, told, headers } = await call;
    expect(headers.get("content-type")).to.equal("text/event-stream");
    expect(result.structuredContent).to.eql({ n: 2 });
    expect(told[0].method).to.equal("notifications/progress");
    expect(told[0].params).to.deep.include({ progressToken: "p", total: 100 });
    expect(told[0].params.message).to.match(/^next in line(, about \d+ s)?$/);
    const progress = told.map(({ params }) => params.progress);
    expect(progress).to.eql([...new Set(progress)].sort((a, b) => a - b));
    expect(JSON.stringify(told)).not.to.match(/a label|said by/);
  });

  it("are told apart by keys and scopes: a foreign task is unknown, a reader has no tools", async () => {
    const guarded = await startTools(keys.env);
    try {
      const [one, other, reader] = (["one", "other", "reader"] as const).map((name) =>
        modernClient(guarded, keys.as(name)),
      );
      const gate = closedGate();
      const { taskId } = (await one?.("tools/call", { name: "gated", arguments: gate.input }))?.result ?? {};
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        expect((await other?.(method, { taskId }))?.error, method).to.include({
          code: -32602,
          message: "Task not found",
        });
      }
      const checked = await other?.("tools/call", { name: "check_task", arguments: { task_id: taskId } });
      expect(checked?.result.isError).to.equal(true);
      expect((await one?.("tasks/get", { taskId }))?.result.status).to.equal("working");
      expect((await reader?.("tasks/get", { taskId }))?.result.status).to.equal("working");
      expect((await reader?.("tools/list"))?.result.tools.map(({ name }: { name: string }) => name)).to.eql([
        "check_task",
      ]);
      expect((await reader?.("tools/call", { name: "greet", arguments: { name: "x" } }))?.status).to.equal(403);
      expect((await modernClient(guarded, keys.as("worker"))("tools/list")).status).to.equal(403);
      expect((await modernClient(guarded)("tools/list")).status).to.equal(401);
    } finally {
      openGates();
      await guarded.stop();
    }
  });

  it("are at no path with MCP=off", async () => {
    const off = await startServer({ MCP: "off" });
    try {
      expect((await off.send("/mcp", { method: "POST", body: {} })).status).to.equal(404);
      expect(Object.keys((await off.send("/openapi.json")).json.paths)).not.to.include("/mcp");
    } finally {
      await off.stop();
    }
  });
});

describe("messages of the Model Context Protocol", () => {
  let server: TestServer;
  before(async () => {
    server = await startTools({ MAX_BODY: "1mb" });
  });
  after(() => server.stop());

  const codeOf = ({ status, error }: Response) => [status, error?.code];

  it("begin with initialize in the older revisions, which agrees on a version", async () => {
    const older = olderClient(server);
    const answers = await Promise.all(
      ["2025-11-25", "2025-06-18", "2024-11-05"].map((protocolVersion) => older("initialize", { protocolVersion })),
    );
    expect(answers.map(({ result }) => result.protocolVersion)).to.eql(["2025-11-25", "2025-06-18", "2025-11-25"]);
    expect(answers[0]?.result.capabilities).to.have.property("tasks");
    expect((await older("ping")).result).to.eql({});
    const initialized = await older("notifications/initialized", {}, { id: null });
    expect([initialized.status, initialized.message]).to.eql([202, undefined]);
    expect(codeOf(await older("ping", {}, { headers: { "MCP-Protocol-Version": "1999-01-01" } }))).to.eql([
      400, -32022,
    ]);
  });

  it("say version and capabilities themselves in the newer one", async () => {
    const modern = modernClient(server);
    const { result } = await modern("server/discover");
    expect(result).to.deep.include({ resultType: "complete", cacheScope: "private" });
    expect(result.supportedVersions).to.eql(["2026-07-28", "2025-11-25", "2025-06-18"]);
    expect(result.capabilities).to.eql({ tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } });
    expect(codeOf(await modern("ping"))).to.eql([404, -32601]);
    expect(codeOf(await modern("tools/list", {}, { headers: { "Mcp-Method": "tools/call" } }))).to.eql([400, -32020]);
    const named = { name: "greet", arguments: { name: "é" } };
    expect(codeOf(await modern("tools/call", named, { headers: { "Mcp-Name": "other" } }))).to.eql([400, -32020]);
    const encoded = `=?base64?${Buffer.from("greet").toString("base64")}?=`;
    expect(textOf(await modern("tools/call", named, { headers: { "Mcp-Name": encoded } }))).to.equal("Hello, é!");
    expect(codeOf(await modernClient(server, {}, {})("tasks/get", { taskId: "x" }))).to.eql([400, -32021]);
    const mirrored = { name: "mirrored", arguments: { region: "eu" } };
    expect(codeOf(await modern("tools/call", mirrored))).to.eql([400, -32020]);
    expect((await modern("tools/call", mirrored, { headers: { "Mcp-Param-Region": "eu" } })).error).to.equal(undefined);
  });

  it("are refused by the codes of JSON-RPC if they are none, or too long", async () => {
    const wrong: [body: string, answer: unknown[]][] = [
      ["{", [400, -32700]],
      ["", [400, -32600]],
      ["3", [400, -32600]],
      ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', [400, -32600]],
      ['{"jsonrpc":"1.0","id":1,"method":"ping"}', [400, -32600]],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', [400, -32600]],
      ['{"jsonrpc":"2.0","id":1,"result":{}}', [400, -32600]],
      ['{"jsonrpc":"2.0","id":1,"method":"toString"}', [200, -32601]],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpu"}}', [200, -32602]],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":[]}}', [200, -32602]],
      [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${"[".repeat(100)}`, [400, -32700]],
    ];
    for (const [body, answer] of wrong) expect(codeOf(await post(server, body)), body).to.eql(answer);
    const long = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "x".repeat(10_000_000) },
    });
    expect(codeOf(await post(server, long))).to.eql([413, -32600]);
    expect((await olderClient(server)("ping")).result, "it goes on").to.eql({});
  });

  it("come from this host only, as on the whole server", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const sent = (headers: Record<string, string>) =>
      server.send("/mcp", { method: "POST", body, headers, contract: false });
    expect((await sent({ Host: "evil.example" })).status).to.equal(421);
    expect((await sent({ Origin: "https://evil.example" })).status).to.equal(403);
    expect((await sent({ Origin: server.url })).status).to.equal(200);
    expect((await server.send("/mcp")).status).to.equal(405);
  });
});
