import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { isGiveUp } from "../../src/handler/intents.ts";
import { taskContext, thrownBy } from "../handlers/context.ts";

const PICTURE = Buffer.from("a picture");
/** What has been sent to its routes, in order. */
const asked: string[] = [];
/** How it answers what it is asked: ComfyUI's own forms. */
const history: Record<string, unknown> = {};
const comfyui = createServer(async (req, res) => {
  let body = "";
  for await (const chunk of req) body += chunk;
  asked.push(`${req.method} ${req.url} ${body}`.trim());
  const json = (status: number, value: unknown) => res.writeHead(status).end(JSON.stringify(value));
  if (req.url === "/prompt") {
    const { prompt } = JSON.parse(body);
    if (prompt.refused) return json(400, { error: { type: "prompt_no_outputs" }, node_errors: {} });
    return json(200, { prompt_id: prompt.name, number: 1, node_errors: {} });
  }
  if (req.url?.startsWith("/history/")) {
    const id = req.url.slice("/history/".length);
    const done = history[id];
    return json(200, done ? { [id]: done } : {});
  }
  if (req.url?.startsWith("/view?")) return res.writeHead(200, { "Content-Type": "image/png" }).end(PICTURE);
  return res.end();
});

describe("examples/comfyui", () => {
  let run: (workflow: Record<string, unknown>, task: ReturnType<typeof taskContext>["task"]) => unknown;
  before(async () => {
    comfyui.listen(0, "127.0.0.1");
    await once(comfyui, "listening");
    process.env.COMFYUI_URL = `http://127.0.0.1:${(comfyui.address() as AddressInfo).port}`;
    ({
      pictures: { run },
    } = await import("../../examples/comfyui/handlers/pictures.ts"));
    delete process.env.COMFYUI_URL;
  });
  beforeEach(() => void asked.splice(0));
  after(() => {
    comfyui.closeAllConnections();
    comfyui.close();
  });
  const ended = (outputs: unknown, status_str = "success") => ({ status: { status_str, completed: true }, outputs });

  it("returns the picture of a workflow once it is there", async () => {
    const image = { filename: "a b.png", subfolder: "", type: "output" };
    const running = run({ name: "p1" }, taskContext().task) as Promise<Response>;
    while (!asked.includes("GET /history/p1")) await sleep(5);
    history.p1 = ended({ 9: { images: [image] } });
    const answer = await running;
    expect(answer.headers.get("content-type")).to.equal("image/png");
    expect(Buffer.from(await answer.arrayBuffer())).to.deep.equal(PICTURE);
    expect(asked.at(-1)).to.equal("GET /view?filename=a+b.png&subfolder=&type=output");
  });

  it("gives up on a workflow that ComfyUI refuses, or that ends without a picture", async () => {
    history.p2 = ended({}, "error");
    for (const workflow of [{ refused: true }, { name: "p2" }]) {
      const thrown = await thrownBy(() => run(workflow, taskContext().task));
      expect(isGiveUp(thrown) && thrown.problem.status).to.equal(422);
    }
  });

  it("ends the prompt of a task that is canceled", async () => {
    const canceling = new AbortController();
    const running = thrownBy(() => run({ name: "p3" }, taskContext({ signal: canceling.signal }).task));
    while (!asked.includes("GET /history/p3")) await sleep(5);
    canceling.abort();
    await running;
    expect(asked).to.include.members(['POST /queue {"delete":["p3"]}', 'POST /interrupt {"prompt_id":"p3"}']);
  });

  it("waits for the prompt of an earlier attempt rather than submitting it again", async () => {
    history.p4 = ended({ 9: { images: [{ filename: "x.png", subfolder: "", type: "output" }] } });
    const step = (async () => ({ prompt_id: "p4" })) as ReturnType<typeof taskContext>["task"]["step"];
    await run({ name: "another" }, taskContext({ step }).task);
    expect(asked.filter((line) => line.startsWith("POST"))).to.deep.equal([]);
  });
});
