import { expect } from "chai";
import { Application } from "../../../src/http/server/application.ts";
import { HttpServer } from "../../../src/http/server/server.ts";

describe("an application", () => {
  const app = new Application();
  const errors: unknown[] = [];
  app.on("error", (error) => errors.push(error));
  app.use((ctx) => {
    if (ctx.path === "/json") ctx.body = { ok: true };
    else if (ctx.path === "/created") ctx.status = 201;
    else if (ctx.path === "/fails") throw new Error("oops");
    else if (ctx.path === "/itself") {
      ctx.respond = false;
      ctx.res.writeHead(202).end("done");
    }
  });
  const server = new HttpServer(app, { host: "127.0.0.1", port: 0 });
  const get = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`);
  before(() => server.start());
  after(() => server.stop());

  it("answers with the body and the status that were set", async () => {
    const json = await get("/json");
    expect([json.status, await json.json()]).to.deep.equal([200, { ok: true }]);
    const created = await get("/created");
    expect([created.status, await created.text()]).to.deep.equal([201, "Created"]);
  });

  it("answers 404 if nothing was set", async () => {
    expect((await get("/nothing")).status).to.equal(404);
  });

  it("does not touch a response that was already sent", async () => {
    const sent = await get("/itself");
    expect([sent.status, await sent.text()]).to.deep.equal([202, "done"]);
  });

  it("answers 500 if the middleware throws, and reports the error", async () => {
    expect((await get("/fails")).status).to.equal(500);
    expect(errors).to.have.length(1);
  });
});
