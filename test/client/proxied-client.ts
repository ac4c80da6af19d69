import path from "node:path";
import { PaihaoClient } from "paihao/client";
import type * as handlers from "../fixtures/handlers/client/handlers.ts";
import { judgeFetched } from "../helpers/http/fetched.ts";
import { type HttpProxy, startHttpProxy } from "../helpers/http/http-proxy.ts";
import { startServer, type TestServer } from "../helpers/http/server.ts";

/** A server, and for each test a new client behind a new proxy. */
export interface ProxiedClient {
  server: TestServer;
  proxy: HttpProxy;
  client: PaihaoClient<typeof handlers>;
}

/** Opens and closes them around the tests of the `describe` that calls this; the members can be read in its tests. */
export function proxiedClient(): ProxiedClient {
  const opened = {} as ProxiedClient;
  judgeFetched();
  before(async () => {
    opened.server = await startServer({ HANDLERS: path.join(import.meta.dirname, "../fixtures/handlers/client") });
  });
  beforeEach(async () => {
    opened.proxy = await startHttpProxy(opened.server.url);
    opened.client = new PaihaoClient<typeof handlers>({ url: opened.proxy.url });
  });
  afterEach(() => opened.proxy.stop());
  after(() => opened.server.stop());
  return opened;
}
