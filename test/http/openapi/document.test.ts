import { Validator } from "@seriousme/openapi-schema-validator";
import { expect } from "chai";
import { z } from "zod";
import { defineHandler } from "../../../src/handler/define.ts";
import type { OpenApiDocument } from "../../../src/http/openapi/document.ts";
import { openApiDocument } from "../../../src/http/openapi/document.ts";
import { testKeys } from "../../helpers/http/api-keys.ts";
import { allExtensions, allRoutes } from "../../helpers/http/matched.ts";
import { startServer, type TestServer } from "../../helpers/http/server.ts";

/** Pages and what they load, for people, and an API that others describe. */
const NOT_DESCRIBED = /^\/(?:$|favicon\.ico$|(?:docs|dashboard|pages|replicate)(?:\/|$))/;

/** Every route as the description writes it. */
function routes(): string[] {
  const described = allRoutes().filter(({ path }) => !NOT_DESCRIBED.test(path));
  return described
    .flatMap(({ method, path }) => {
      const methods = [method].flat().filter((other) => other !== "OPTIONS");
      return methods.map((other) => `${other} ${path.replace(/\{\*(\w+)\}/g, "{$1}").replace(/:(\w+)/g, "{$1}")}`);
    })
    .sort();
}

const operations = ({ paths }: OpenApiDocument): string[] =>
  Object.entries(paths)
    .flatMap(([path, item]) => Object.keys(item ?? {}).map((method) => `${method.toUpperCase()} ${path}`))
    .sort();

/** Whether generators can make a type from each name: it begins with a letter, and no other differs by case alone. */
function expectDistinct({ components }: OpenApiDocument): void {
  for (const [kind, members] of Object.entries(components)) {
    const names = Object.keys(members);
    for (const name of names) expect(name, kind).to.match(/^[A-Za-z][\w.-]*$/);
    expect(new Set(names.map((name) => name.toLowerCase())).size, kind).to.equal(names.length);
  }
}

describe("the description of the API", () => {
  let server: TestServer;
  let document: OpenApiDocument;
  before(async () => {
    server = await startServer();
    const answer = await server.send("/openapi.json");
    expect(answer.status).to.equal(200);
    document = answer.json;
  });
  after(() => server.stop());

  it("is valid OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    expect(errors).to.equal(undefined);
    expect(valid).to.equal(true);
  });

  it("describes every route except the pages, and nothing else", () => {
    const queues = Object.keys(document.paths).filter((path) => /^\/v1\/queues\/[a-z0-9._-]+\/requests$/.test(path));
    const written = operations(document).filter((operation) => !queues.some((path) => operation.endsWith(` ${path}`)));
    expect(written).to.deep.equal(routes());
  });

  it("names each status, since generators make code of it that 2XX would break", () => {
    const described = Object.values(document.paths).flatMap((item) => Object.values(item ?? {}));
    for (const { operationId, responses } of described)
      for (const status of Object.keys(responses)) expect(status, operationId).to.match(/^(?:[1-5]\d\d|default)$/);
  });

  it("has a path for each queue, with what its handler accepts", async () => {
    const { items } = (await server.send("/v1/queues")).json;
    for (const { name, consumes, input } of items) {
      // The server's own queues are shown, but take nothing from callers.
      if (name.startsWith("paihao.")) continue;
      const body = document.paths[`/v1/queues/${name}/requests`]?.post?.requestBody;
      expect(Object.keys(body?.content ?? {}), name).to.deep.equal(consumes);
      if (input === null) continue;
      const { schema } = body?.content["application/json"] ?? {};
      expect(schema).to.deep.equal({ $ref: `#/components/schemas/input.${name}` });
      const { $schema: _, ...expected } = input;
      expect(document.components.schemas[`input.${name}`]).to.deep.equal(expected);
    }
    expect(document.components.schemas).to.have.property("input.checked");
  });

  it("names each operation once, and has no dangling references", () => {
    const ids = Object.values(document.paths).flatMap((item) => Object.values(item ?? {}).map((o) => o.operationId));
    expect(new Set(ids).size).to.equal(ids.length);
    const text = JSON.stringify(document);
    for (const [, kind, name] of text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"/]+)"/g)) {
      expect(document.components[kind as "schemas"], `${kind}/${name}`).to.have.property(String(name));
    }
    expect(text).to.not.match(/"\$ref":"#\/\$defs/);
  });

  it("has component names that begin with a letter, none of which differ by case alone", () => {
    expectDistinct(document);
  });

  it("requires the scopes that the routes require", () => {
    expect(document.paths["/v1/requests"]?.post?.security).to.deep.equal([{ key: ["submit"] }, {}]);
    expect(document.paths["/v1/requests/{id}"]?.get?.security).to.deep.equal([
      { key: ["submit", "read"] },
      { link: [] },
      {},
    ]);
    expect(document.paths["/v1/queues/{queue}/pause"]?.post?.security).to.deep.equal([{ key: ["admin"] }, {}]);
    expect(document.paths["/v1/queues"]?.get?.security).to.deep.equal([{ key: [] }, {}]);
    expect(document.paths["/healthz"]?.get?.security).to.deep.equal([]);
  });

  it("hides queues and inputs from callers without a key, if the server has keys; the rest is the same", async () => {
    const keys = testKeys({ ann: ["submit"], worker: ["work"] });
    const guarded = await startServer(keys.env);
    try {
      const shown = (headers: Record<string, string>) => guarded.send("/openapi.json", { headers });
      const strangers = [await shown({}), await shown({ Authorization: "Bearer guess" })];
      for (const { status, text, json, headers } of strangers) {
        expect([status, headers.vary]).to.deep.equal([200, "Authorization"]);
        expect(text).to.not.contain("checked").and.not.contain('"input.');
        expect(Object.keys(json.paths)).to.deep.equal(
          Object.keys(document.paths).filter((path) => !/^\/v1\/queues\/[a-z0-9._-]+\/requests$/.test(path)),
        );
        expect((await new Validator().validate(json)).errors).to.equal(undefined);
      }
      for (const name of ["ann", "worker"] as const) {
        const answer = await shown(keys.as(name, { "If-None-Match": String(strangers[0]?.headers.etag) }));
        expect([answer.status, answer.headers.vary]).to.deep.equal([200, "Authorization"]);
        expect(answer.json).to.deep.equal(document);
      }
    } finally {
      await guarded.stop();
    }
  });

  it("is 304 for its ETag", async () => {
    const { etag } = (await server.send("/openapi.json")).headers;
    const headers = { "If-None-Match": String(etag), "Cache-Control": "no-cache" };
    const answer = await server.send("/openapi.json", { headers });
    expect([answer.status, answer.text]).to.deep.equal([304, ""]);
  });

  it("includes recursive schemas, and handlers without a JSON Schema", async () => {
    interface Tree {
      name: string;
      children: Tree[];
    }
    const tree: z.ZodType<Tree> = z.object({ name: z.string(), children: z.array(z.lazy(() => tree)) });
    const run = () => undefined;
    const leaf = (id: string, value: number) => z.literal(value).meta({ id });
    const handlers = [
      defineHandler({ queue: "tree", input: tree, run }),
      defineHandler({ queue: "forest", input: z.object({ trees: z.array(tree) }), run }),
      defineHandler({ queue: "custom", input: z.string().transform((text) => text.length), run }),
      defineHandler({ queue: "opaque", input: z.custom<Date>(() => true), run }),
      defineHandler({ queue: "any", consumes: ["*/*"], run }),
      defineHandler({
        queue: "a",
        input: z.object({ one: leaf("b", 1), other: leaf("B", 2), dotted: leaf("b.c", 3) }),
        run,
      }),
      defineHandler({ queue: "a.b", input: z.object({ one: leaf("c", 4) }), run }),
    ];
    const extensions = allExtensions();
    const described = await openApiDocument({ routes: allRoutes(extensions), handlers, extensions, version: "1.2.3" });
    const { errors } = await new Validator().validate(JSON.parse(JSON.stringify(described)));
    expect(errors).to.equal(undefined);
    for (const [, name] of JSON.stringify(described).matchAll(/"\$ref":"([^"]+)"/g)) {
      const target = String(name).replace("#/components/", "").split("/");
      expect(described.components[target[0] as "schemas"], name).to.have.property(String(target[1]));
    }
    expectDistinct(described);
    const parts = Object.entries(described.components.schemas).filter(([name]) => name.startsWith("part.a"));
    expect(parts.map(([, { const: value }]) => value)).to.have.members([1, 2, 3, 4]);
  });
});
