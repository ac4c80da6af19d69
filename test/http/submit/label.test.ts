import { expect } from "chai";
import { PaihaoClient } from "../../../src/client/index.ts";
import { defineHandler } from "../../../src/handler/define.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

const named = defineHandler<{ name: unknown }>({
  queue: "named",
  label: ({ name }) => {
    if (name === "broken") throw new Error("secret of the handler");
    // As code without types may.
    return (name === "promised" ? Promise.reject(new Error("no string")) : name) as string;
  },
  run: () => "done",
});
const plain = defineHandler({ queue: "plain", run: () => "done" });

describe("the label of a task (API: label)", () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({}, { handlers: new Map(Object.entries({ named, plain })) });
  });
  after(() => server.stop());

  const labelOf = async (id: string): Promise<unknown> => (await server.send(`/v1/requests/${id}/status`)).json.label;
  const submit = (id: string, search: string, { method = "POST", body = {} as unknown, queue = "plain" } = {}) =>
    server.send(`/v1/queues/${queue}/requests${method === "PUT" ? `/${id}` : ""}${search}`, {
      method,
      headers: { Prefer: "respond-async", "X-Request-Id": id },
      body,
    });
  const LATER = "delay=3600";

  it("is up to 64 code points without controls of either set, and none if it is empty", async () => {
    const longest = "😀".repeat(64);
    const given = { café: "café", [longest]: longest, "": null };
    for (const [n, [text, label]] of Object.entries(given).entries()) {
      expect((await submit(`form-${n}`, `?${LATER}&label=${encodeURIComponent(text)}`)).status).to.equal(202);
      expect(await labelOf(`form-${n}`)).to.equal(label);
    }
    for (const text of [`${longest}x`, "a\nb", "a\u007fb", "a\u0085b"]) {
      const { status, json } = await submit("refused", `?label=${encodeURIComponent(text)}`);
      expect([status, json.type, json.parameter], text).to.deep.equal([400, "/problems/invalid-parameter", "label"]);
    }
  });

  it("stays through a repetition, is replaced with the input by a PUT, and kept by a task that runs it again", async () => {
    await submit("stays", `?${LATER}&label=one`);
    expect((await submit("stays", `?${LATER}&label=two`)).headers).to.have.property("idempotent-replayed");
    await submit("stays", "?label=two", { method: "PUT" });
    expect(await labelOf("stays")).to.equal("one");
    expect((await submit("stays", "?label=two", { method: "PUT", body: { n: 2 } })).json.label).to.equal("two");
    const again = (id: string, search = "") =>
      server.send(`/v1/requests/stays/again?${LATER}${search}`, {
        method: "POST",
        headers: { Prefer: "respond-async", "X-Request-Id": id },
      });
    expect([(await again("kept")).status, (await again("other", "&label=three")).status]).to.deep.equal([202, 202]);
    expect([await labelOf("kept"), await labelOf("other")]).to.deep.equal(["two", "three"]);
    expect((await submit("stays", "", { method: "PUT", body: { n: 3 } })).json.label).to.equal(null);
  });

  it("is a member of an envelope, in place of the batch's, and shown in lists", async () => {
    const lines = [{ label: "own" }, {}, { label: "" }, { label: "a\tb" }, { label: 1 }];
    const body = lines.map((line, n) => JSON.stringify({ id: `line-${n}`, input: n, ...line })).join("\n");
    const verdicts = await server.batch("plain", body, `?envelope=true&${LATER}&label=common`);
    const refused = verdicts.filter(({ problem }) => problem);
    expect(refused.map(({ line, problem }) => [line, problem.type])).to.deep.equal([
      [3, "/problems/invalid-parameter"],
      [4, "/problems/invalid-parameter"],
    ]);
    const { items } = (await server.send("/v1/queues/plain/scheduled?idPrefix=line-")).json;
    expect(items.map(({ id, label }: Record<string, unknown>) => [id, label])).to.have.deep.members([
      ["line-0", "own"],
      ["line-1", "common"],
      ["line-2", null],
    ]);
  });

  it("is that of the handler where none is given, cut and without controls; one that throws names nothing", async () => {
    const cases = {
      short: "short",
      [`\u0007${"é".repeat(70)}`]: "é".repeat(64),
      broken: null,
      promised: null,
      "": null,
    };
    for (const [n, [name, label]] of Object.entries(cases).entries()) {
      await submit(`named-${n}`, `?${LATER}`, { queue: "named", body: { name } });
      expect(await labelOf(`named-${n}`), name).to.equal(label);
    }
    const told = server.log.filter(({ msg }) => /label function failed/.test(String(msg)));
    expect(told.map(({ id }) => id)).to.deep.equal(["named-2", "named-3"]);
    await submit("given", `?${LATER}&label=given`, { queue: "named", body: { name: "broken" } });
    expect(await labelOf("given")).to.equal("given");
  });

  it("is sent by the client, and outlives the task's run", async () => {
    const client = new PaihaoClient({ url: server.url });
    const task = await client.submit("plain", {}, { label: "by the client" });
    await server.until(task.id, "succeeded");
    expect(await labelOf(task.id)).to.equal("by the client");
  });
});
