import { EventEmitter } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { Cluster } from "ioredis";
import type { Connection } from "../../src/store/connection.ts";
import { type MessageListener, PubSub } from "../../src/store/pubsub.ts";

/** What both kinds of connections note: calls, as they are made; and whether they fail. */
interface Calls {
  readonly calls: string[];
  fails: boolean;
}

function singleServer(): Calls & { readonly connection: Connection } {
  const server = Object.assign(new EventEmitter(), { calls: [] as string[], fails: false });
  const called = async (call: string) => {
    server.calls.push(call);
    if (server.fails) throw new Error("Connection is closed.");
  };
  return Object.assign(server, {
    connection: Object.assign(server, {
      subscribe: (...channels: string[]) => called(`subscribe ${channels.join(" ")}`),
      unsubscribe: (channel: string) => called(`unsubscribe ${channel}`),
    }) as unknown as Connection,
  });
}

function cluster(): Calls & { readonly connection: Connection } {
  const connection = new Cluster([{ host: "127.0.0.1", port: 7001 }], { lazyConnect: true });
  const noted = { connection, calls: [] as string[], fails: false };
  // As ioredis does for a shard that it does not know.
  const called = (call: string) => {
    noted.calls.push(call);
    if (noted.fails) throw new Error("No subscriber group found");
    return Promise.resolve(1);
  };
  Object.assign(connection, {
    ssubscribe: (channel: string) => called(`ssubscribe ${channel}`),
    sunsubscribe: (channel: string) => called(`sunsubscribe ${channel}`),
  });
  return noted;
}

for (const [name, open, [sub, unsub, message]] of [
  ["a single server", singleServer, ["subscribe", "unsubscribe", "messageBuffer"]],
  ["a cluster", cluster, ["ssubscribe", "sunsubscribe", "smessageBuffer"]],
] as const) {
  describe(`the subscriptions on ${name}`, () => {
    let store: ReturnType<typeof open>;
    let pubsub: PubSub;
    let heard: string[];
    beforeEach(() => {
      store = open();
      pubsub = new PubSub(store.connection);
      heard = [];
    });
    afterEach(() => store.connection.removeAllListeners());

    const ear =
      (name: string): MessageListener =>
      (said) =>
        heard.push(`${name} ${said === null ? "missed" : said.toString()}`);
    const emit = (event: string, ...args: unknown[]) => store.connection.emit(event, ...args);
    const say = (channel: string, text: string) => emit(message, Buffer.from(channel), Buffer.from(text));

    it("share one subscription, which ends with the last listener", async () => {
      const leaveFirst = await pubsub.listen("news", ear("first"));
      const leaveSecond = await pubsub.listen("news", ear("second"));
      await pubsub.listen("other", ear("third"));
      expect(store.calls).to.deep.equal([`${sub} news`, `${sub} other`]);
      say("news", "hello");
      leaveFirst();
      leaveFirst();
      say("news", "again");
      say("unknown", "nobody listens");
      expect(heard).to.deep.equal(["first hello", "second hello", "second again"]);
      leaveSecond();
      leaveSecond();
      say("news", "late");
      expect(heard).to.have.lengthOf(3);
      expect(store.calls.slice(2)).to.deep.equal([`${unsub} news`]);
      await pubsub.listen("news", ear("fourth"));
      expect(store.calls.slice(3)).to.deep.equal([`${sub} news`]);
    });

    it("may end while the connection is down", async () => {
      const leave = await pubsub.listen("news", ear("first"));
      store.fails = true;
      leave();
      // A rejection that nobody handles would fail the test.
      await turn();
      expect(store.calls).to.deep.equal([`${sub} news`, `${unsub} news`]);
    });
  });
}

describe("the subscriptions on a single server that comes back", () => {
  it("are made again, and the listeners hear that they may have missed something once that has worked", async () => {
    const store = singleServer();
    const pubsub = new PubSub(store.connection);
    const heard: unknown[] = [];
    store.connection.emit("ready");
    expect(store.calls).to.deep.equal([]);
    await pubsub.listen("news", (said) => heard.push(said));
    store.fails = true;
    // While it is down: the listener only polls.
    await pubsub.listen("other", (said) => heard.push(said));
    store.connection.emit("ready");
    await turn();
    expect(heard).to.deep.equal([]);
    store.fails = false;
    store.connection.emit("ready");
    await turn();
    expect(heard).to.deep.equal([null, null]);
    expect(store.calls.at(-1)).to.equal("subscribe news other");
  });
});

describe("the subscriptions on a cluster that changes", () => {
  it("are made again where they failed, and their listeners hear that they may have missed something", async () => {
    const store = cluster();
    const pubsub = new PubSub(store.connection);
    const heard: string[] = [];
    await pubsub.listen("kept", () => heard.push("kept"));
    store.fails = true;
    await pubsub.listen("failed", () => heard.push("failed"));
    store.connection.emit("refresh");
    await turn();
    expect(heard).to.deep.equal([]);
    store.fails = false;
    store.connection.emit("refresh");
    await turn();
    store.connection.emit("refresh");
    await turn();
    expect(heard).to.deep.equal(["failed"]);
    expect(store.calls).to.deep.equal([
      "ssubscribe kept",
      "ssubscribe failed",
      "ssubscribe failed",
      "ssubscribe failed",
    ]);
    store.connection.emit("subscribersReady");
    expect(heard).to.deep.equal(["failed", "kept", "failed"]);
  });
});
