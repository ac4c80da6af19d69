import path from "node:path";
import { expect } from "chai";
import { PaihaoClient, TaskUnknown } from "paihao/client";
import type * as handlers from "../fixtures/handlers/client/handlers.ts";
import { testKeys } from "../helpers/http/api-keys.ts";
import { judgeFetched } from "../helpers/http/fetched.ts";
import { type HttpProxy, startHttpProxy } from "../helpers/http/http-proxy.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";
import { failure } from "./failure.ts";

describe("the client of a server with keys", () => {
  judgeFetched();
  const keys = testKeys({ ada: ["submit"], bob: ["submit"] });
  const keyOf = (name: "ada" | "bob") => keys.as(name).Authorization?.replace("Bearer ", "");
  let server: TestServer;
  let proxy: HttpProxy;
  let ada: PaihaoClient<typeof handlers>;
  before(async () => {
    server = await startServer({
      ...keys.env,
      HANDLERS: path.join(import.meta.dirname, "../fixtures/handlers/client"),
      URL_SIGNING_KEY: "a secret of at least 16 characters",
    });
    proxy = await startHttpProxy(server.url);
    ada = new PaihaoClient<typeof handlers>({ url: server.url, key: keyOf("ada") });
  });
  after(async () => {
    await proxy.stop();
    await server.stop();
  });

  it("sends its key, and distinguishes a missing key from one without the scope", async () => {
    expect(await ada.run("greet", { name: "Ada" })).to.have.property("greeting");
    const nobody = new PaihaoClient<typeof handlers>({ url: server.url });
    const wrong = new PaihaoClient<typeof handlers>({ url: server.url, key: "wrong" });
    for (const client of [nobody, wrong]) {
      const error = await failure(client.submit("greet", { name: "x" }));
      expect(error).to.include({ kind: "unauthorized", code: "unauthenticated" });
    }
    const pausing = ada.request("/v1/queues/greet/pause", { method: "POST" });
    expect(await failure(pausing)).to.include({ kind: "unauthorized", code: "forbidden" });
  });

  it("does not find the tasks of others", async () => {
    const { id } = await ada.submit("greet", { name: "Ada" });
    const bob = new PaihaoClient({ url: server.url, key: keyOf("bob") });
    expect(await failure(bob.result(id))).to.be.instanceOf(TaskUnknown);
    expect(await failure(bob.cancel(id))).to.be.instanceOf(TaskUnknown);
  });

  it("reads a task by a signed link, without a key", async () => {
    const { href, id } = await ada.submit("words", { words: ["a", "b"] });
    expect(href).to.include("signature=");
    const reader = new PaihaoClient({ url: server.url });
    expect(await reader.result(href)).to.equal(2);
    expect((await reader.status(href)).state).to.equal("succeeded");
    const heard: unknown[] = [];
    for await (const data of reader.output(href)) heard.push(data);
    expect(heard).to.deep.equal(["a", "b"]);
    for await (const status of reader.watch(href)) expect(status.id).to.equal(id);
    expect(await failure(reader.cancel(href))).to.include({ kind: "unauthorized" });
    expect(await failure(reader.result(href.replace(/signature=.{4}/, "signature=AAAA")))).to.have.property(
      "kind",
      "unauthorized",
    );
  });

  it("sends its key to no other server that a link leads to", async () => {
    const { href } = await ada.submit("greet", { name: "Ada" });
    expect(await ada.result(proxy.url + href)).to.have.property("greeting");
    await failure(ada.result(`${proxy.url}/v1/requests/some-id`));
    expect(proxy.seen).to.not.have.length(0);
    for (const { headers } of proxy.seen) expect(headers).to.not.have.property("authorization");
    const monitor = (await ada.status(`${server.url}${href.replace("?", "/status?")}`)).id;
    expect(href).to.include(monitor);
  });
});
