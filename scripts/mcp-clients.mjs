/** Calls tools with the reference clients of the protocol, unchanged: of both revisions, with tasks and without. For scripts/mcp-conformance.ts. */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";

const server = process.argv[2];
const url = new URL("/mcp", server);
const clientInfo = { name: "reference-clients", version: "1.0.0" };
const call = { name: "slow_compute", arguments: { seconds: 0.5 } };
const isRight = ({ structuredContent }) => assert.deepEqual(structuredContent, { seconds: 0.5 });
const isTold = ([first]) => assert.match(first.message, /^running|before you|next in line/);

const running = async () => (await (await fetch(new URL("/v1/queues/slow_compute", server))).json()).running;

/** Sends a message of the newer revision as it is: the client has no tasks yet. */
async function rawDispatch(message) {
  const { method, params } = message;
  const name = params?.name ?? params?.taskId;
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": method,
    ...(name && { "Mcp-Name": name }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: crypto.randomUUID(), ...message });
  return (await fetch(url, { method: "POST", headers, body })).json();
}

const clients = {
  "sdk 1.x: a held call, a task, a cancel": async () => {
    const client = new OlderClient(clientInfo);
    await client.connect(new OlderTransport(url));
    assert((await client.listTools()).tools.length > 5);
    const told = [];
    isRight(await client.callTool(call, undefined, { onprogress: (progress) => told.push(progress) }));
    isTold(told);
    const kinds = [];
    const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, { task: { ttl: 60_000 } });
    for await (const message of stream) {
      kinds.push(message.type);
      if (message.type === "result") isRight(message.result);
    }
    assert.deepEqual([kinds[0], kinds.at(-1)], ["taskCreated", "result"]);
    const long = { ...call, arguments: { seconds: 600 } };
    const signal = AbortSignal.timeout(500);
    await assert.rejects(client.callTool(long, undefined, { signal }));
    for (let tries = 1; (await running()) > 0; tries += 1) {
      assert(tries < 100, "the canceled call goes on");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await client.close();
  },
  ...Object.fromEntries(
    [["auto"], [{ pin: "2026-07-28" }], ["legacy"]].map(([mode]) => [
      `client 2.x, ${JSON.stringify(mode)}: a held call`,
      async () => {
        const client = new Client(clientInfo, { versionNegotiation: { mode } });
        await client.connect(new StreamableHTTPClientTransport(url));
        assert.equal(client.getProtocolEra(), mode === "legacy" ? "legacy" : "modern");
        const told = [];
        isRight(await client.callTool(call, { onprogress: (progress) => told.push(progress) }));
        isTold(told);
        await assert.rejects(client.callTool({ name: "nothing-of-the-kind" }), { code: -32602 });
        await client.close();
      },
    ]),
  ),
  ...Object.fromEntries(
    ["legacy", { pin: "2026-07-28" }].map((mode) => [
      `ext-tasks, ${JSON.stringify(mode)}: a task`,
      async () => {
        const clientCapabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
        const client = new Client(clientInfo, { versionNegotiation: { mode }, capabilities: clientCapabilities });
        await client.connect(new StreamableHTTPClientTransport(url));
        const v2RequestFraming = { protocolVersion: "2026-07-28", clientInfo, clientCapabilities };
        const newer = mode === "legacy" ? {} : { rawDispatch, v2RequestFraming };
        const session = createTaskSessionFromClient(client, { endpointId: "tests", ...newer });
        const execution = await session.callTool(call.name, call.arguments);
        if (mode !== "legacy") assert.equal(execution.kind, "task");
        isRight(resultFromTaskOutcome((await execution.settle()).outcome));
        await session.close();
      },
    ]),
  ),
};

let failed = 0;
for (const [name, run] of Object.entries(clients)) {
  try {
    await run();
    console.log(`  ✔ ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`✘ ${name}: ${error.stack}`);
  }
}
console.log(`${Object.keys(clients).length - failed} passed, ${failed} failed`);
