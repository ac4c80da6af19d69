import { expect } from "chai";
import { Notices } from "../../../src/engine/watch/notices.ts";
import { Keys } from "../../../src/store/keys.ts";
import type { MessageListener, PubSub } from "../../../src/store/pubsub.ts";
import { deferred } from "../../helpers/deferred.ts";

const keys = new Keys("notices:", 3);
const queueIn = (partition: number) =>
  Array.from({ length: 60 }, (_, n) => `q${n}`).find((queue) => keys.partitionOfQueue(queue) === partition) ?? "";
const [ID, OTHER] = ["a", "b"];
/** Tasks of the same queue. */
const [TASK, NEXT] = [
  { id: ID, queue: queueIn(1) },
  { id: OTHER, queue: queueIn(1) },
];

describe("the listeners of a process", () => {
  let channels: Map<string, MessageListener>;
  let subscribed: ReturnType<typeof deferred<void>>;
  let heard: string[];
  beforeEach(() => {
    channels = new Map();
    subscribed = deferred();
    heard = [];
  });
  const open = () => {
    const pubsub = {
      listen: async (channel: string, listener: MessageListener) => {
        channels.set(channel, listener);
        await subscribed.promise;
        return () => undefined;
      },
    };
    return new Notices(pubsub as unknown as PubSub, keys);
  };
  const ear = (name: string) => (notice: unknown) => void heard.push(notice === null ? `${name} missed` : name);
  /** What arrives on the channel of a process, or of all, in a partition. */
  const arrives = (notices: Notices, partition: number, message: Buffer | null, name = notices.process) =>
    (channels.get(keys.noticeChannel(partition, name)) ?? expect.fail("no such channel"))(message);

  it("hear what is said of their task, until they leave", () => {
    const notices = open();
    const stops = ["first", "second", "third"].map((name) => notices.listen(TASK, ear(name)).stop);
    notices.listen(NEXT, ear("other"));
    notices.notify(ID, null);
    expect(heard.splice(0)).to.deep.equal(["first missed", "second missed", "third missed"]);
    stops[1]?.();
    stops[1]?.();
    notices.notify(ID, null);
    expect(heard.splice(0)).to.deep.equal(["first missed", "third missed"]);
    stops[0]?.();
    expect(notices.has(ID)).to.equal(true);
    stops[2]?.();
    expect([notices.has(ID), notices.has(OTHER)]).to.deep.equal([false, true]);
    notices.notify(ID, null);
    expect(heard).to.deep.equal([]);
  });

  it("all hear a notice although one of them leaves because of it", () => {
    const notices = open();
    const first = notices.listen(TASK, () => first.stop());
    notices.listen(TASK, ear("second"));
    notices.notify(ID, null);
    expect(heard).to.deep.equal(["second missed"]);
  });

  it("hear when notices may have been missed", () => {
    const notices = open();
    notices.listen(TASK, ear("first"));
    notices.listen({ id: "c", queue: queueIn(2) }, ear("elsewhere"));
    arrives(notices, 1, null);
    expect(heard).to.deep.equal(["first missed", "elsewhere missed"]);
  });
});
