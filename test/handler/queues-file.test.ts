import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { loadHandlers } from "../../src/handler/load.ts";
import { startServer } from "../helpers/http/server.ts";
import { expectStartError } from "../helpers/start-error.ts";

const EMBED = {
  attempts: 3,
  lease: "30s",
  backoff: { base: "2s" },
  rate: { max: 5, per: "1s" },
  batch: { max: 32, wait: "50ms" },
  fair: true,
  input: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { texts: { type: "array", items: { $ref: "#/$defs/text" } }, model: { enum: ["small", "large"] } },
    required: ["texts"],
    additionalProperties: false,
    $defs: { text: { type: "string", minLength: 1, format: "a-format-of-ours" } },
  },
};

describe("queues.json", () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), "paihao-queues-"));
  });
  afterEach(() => rm(dir, { recursive: true }));
  const declare = (queues: unknown) =>
    writeFile(path.join(dir, "queues.json"), typeof queues === "string" ? queues : JSON.stringify(queues));

  it("declares queues for workers over HTTP, with the options of a handler", async () => {
    await declare({ embed: EMBED, plain: {} });
    await writeFile(
      path.join(dir, "a.js"),
      'import { defineHandler } from "paihao";\nexport const a = defineHandler({ queue: "a", run() {} });',
    );
    const handlers = await loadHandlers(dir);
    expect([...handlers.keys()]).to.deep.equal(["a", "embed", "plain"]);
    expect(handlers.get("embed")).to.deep.include({
      attempts: 3,
      leaseMs: 30_000,
      backoff: { baseMs: 2000, maxMs: 60_000 },
      rate: { max: 5, perMs: 1000 },
      batch: { max: 32, waitMs: 50 },
      fair: "caller",
      concurrency: { each: 0, total: undefined },
    });
  });

  it("declares totals, and queues of turns", async () => {
    await declare({ embed: { concurrency: { total: 4 } }, gpu: { turns: 2, longest: "2h", presence: "1m" } });
    const handlers = await loadHandlers(dir);
    expect(handlers.get("embed")?.concurrency).to.deep.equal({ each: 0, total: 4 });
    expect(handlers.get("gpu")).to.deep.include({
      ...{ concurrency: { each: 0, total: 2 }, turns: { longestMs: 7_200_000, all: true }, presenceMs: 60_000 },
    });
  });

  it("checks inputs by JSON Schema, says where they are wrong, and shows the schema", async () => {
    await declare({ embed: EMBED });
    const server = await startServer({ HANDLERS: dir });
    try {
      const input = { texts: ["a", ""], model: "huge", "a/b": 1 };
      const { status, json } = await server.post("embed", input);
      expect([status, json.type]).to.deep.equal([400, "/problems/invalid-input"]);
      expect(json.errors).to.have.deep.members([
        { pointer: "#/texts/1", detail: "must NOT have fewer than 1 characters" },
        { pointer: "#/model", detail: 'must be equal to one of the allowed values: "small", "large"' },
        { pointer: "#/a~1b", detail: "must NOT have additional properties" },
      ]);
      expect((await server.post("embed", {})).json.errors).to.deep.equal([
        { pointer: "#/texts", detail: "must have required property 'texts'" },
      ]);
      const id = await server.enqueue("embed", { texts: ["a"] });
      const leased = await server.send("/v1/queues/embed/leases", { method: "POST", body: {} });
      expect(leased.json.items[0]).to.deep.include({ id, input: { texts: ["a"] }, leaseSeconds: 30, maxAttempts: 3 });
      expect((await server.send("/v1/queues/embed")).json.input).to.deep.equal(EMBED.input);
      const { schemas } = (await server.send("/openapi.json")).json.components;
      expect(schemas["input.embed"].properties.texts.items).to.deep.equal({
        $ref: "#/components/schemas/part.embed.text",
      });
    } finally {
      await server.stop();
    }
  });

  for (const [what, queues, expected] of [
    ["that is no JSON", "{ embed: 1 }", "JSON"],
    ["that is no object", [], 'expected an object such as { "embed": { "attempts": 3 } }'],
    ["with a queue that is no object", { embed: 3 }, 'queue "embed": is 3, expected an object with its options'],
    [
      "with a name that no queue may have",
      { "Em Bed": {} },
      'queue is "Em Bed", expected 1–64 characters of a–z 0–9 . _ -',
    ],
    [
      "with a wrong value",
      { embed: { attempts: 0 } },
      'queue "embed": attempts is 0, expected a whole number from 1 to 1000000',
    ],
    [
      "with a rate that names no time",
      { embed: { rate: { max: 5 } } },
      'rate is {"max":5}, expected { max: 5, per: "1s" }',
    ],
    [
      "with an option that needs code",
      { embed: { isolate: true } },
      'queue "embed": there is no option "isolate", expected one of input, description, tool, consumes, attempts',
    ],
    [
      "with slots in each worker",
      { embed: { concurrency: 4 } },
      'queue "embed": concurrency is 4, expected { "total": 4 }: each worker has its own slots',
    ],
    [
      "with turns that have an option of workers",
      { gpu: { turns: 1, lease: "5s" } },
      'queue "gpu": there is no option "lease", expected one of turns, longest, description, input',
    ],
    [
      "with turns without a slot",
      { gpu: { turns: 0 } },
      'queue "gpu": turns is 0, expected a whole number from 1 to 1000000',
    ],
    ["with turns that are no number", { gpu: { turns: null } }, 'queue "gpu": turns is null, expected a whole number'],
    [
      "with turns that have a wrong longest time",
      { gpu: { turns: 1, longest: "soon" } },
      'turns of queue "gpu": longest is "soon", expected a duration',
    ],
    [
      "with turns that have slots of workers",
      { gpu: { turns: 1, concurrency: { total: 2 } } },
      'queue "gpu": there is no option "concurrency", expected one of turns, longest, description, input',
    ],
    [
      "with a longest time of what has no turns",
      { gpu: { longest: "2h" } },
      'queue "gpu": there is no option "longest", which is for turns: expected "turns", too',
    ],
    [
      "with a total that is none",
      { embed: { concurrency: { total: 0 } } },
      'queue "embed": concurrency.total is 0, expected a whole number from 1 to 1000000',
    ],
    [
      "with a misspelt total",
      { embed: { concurrency: { totl: 4 } } },
      'there is no option "concurrency.totl"; did you mean "total"?',
    ],
    [
      "with a total and slots in each worker",
      { embed: { concurrency: { each: 2, total: 4 } } },
      'concurrency is {"each":2,"total":4}, expected { "total": 4 }: each worker has its own slots',
    ],
    ["with a misspelt option", { embed: { atempts: 4 } }, 'there is no option "atempts"; did you mean "attempts"?'],
    [
      "with a schema that is none",
      { embed: { input: { type: "strng" } } },
      'input is {"type":"strng"}, expected a JSON Schema (2020-12) without remote references: schema is invalid',
    ],
    ["with a schema of another kind", { embed: { input: true } }, "input is true, expected a JSON Schema"],
    [
      "with a remote reference",
      { embed: { input: { $ref: "https://example.org/schema.json" } } },
      "without remote references: can't resolve reference https://example.org/schema.json",
    ],
    ["with a schema that does not answer at once", { embed: { input: { $async: true } } }, "$async"],
  ] as const) {
    it(`prevents the start ${what}`, async () => {
      await declare(queues);
      const said = await expectStartError(loadHandlers(dir), `${path.join(dir, "queues.json")} cannot be loaded: `);
      expect(said).to.contain(expected);
    });
  }

  it("may not declare a queue that has a handler", async () => {
    await declare({ a: {} });
    const file = path.join(dir, "z.js");
    await writeFile(
      file,
      'import { defineHandler } from "paihao";\nexport const z = defineHandler({ queue: "a", run() {} });',
    );
    await expectStartError(
      loadHandlers(dir),
      `two handlers for the queue "a": ${path.join(dir, "queues.json")} and ${file} (export z)`,
    );
  });
});
