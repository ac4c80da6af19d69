/** Follows outputs over its own sockets: it reports when all answers have begun, and when all values have arrived. */
import { connect } from "node:net";

/** What to follow. */
export interface FollowPlan {
  readonly port: number;
  /** The task of each follower. */
  readonly ids: readonly string[];
  /** How many values each is to get. */
  readonly values: number;
}

/** How many connections are opened at once. */
const OPENING = 100;
const VALUE = Buffer.from('{"seq"');

process.on("message", (plan: FollowPlan) => void follow(plan));

async function follow({ port, ids, values }: FollowPlan): Promise<void> {
  let left = ids.length;
  let next = 0;
  const openOne = async (): Promise<void> => {
    for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
      await open(port, id, values, () => {
        left -= 1;
        if (left === 0) process.send?.("all");
      });
    }
  };
  await Promise.all(Array.from({ length: OPENING }, openOne));
  process.send?.("open");
}

/** Resolves when the answer has begun. */
function open(port: number, id: string, values: number, done: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let [seen, begun] = [0, false];
    socket.once("error", reject);
    socket.write(`GET /v1/requests/${id}/output HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    socket.on("data", (chunk: Buffer) => {
      if (!begun && !chunk.toString("latin1").startsWith("HTTP/1.1 200")) {
        return reject(new Error(`not followed: ${chunk.toString("latin1", 0, 80)}`));
      }
      begun = true;
      resolve();
      const before = seen;
      // Values are so short here that a chunk never ends within their mark.
      for (let at = chunk.indexOf(VALUE); at >= 0; at = chunk.indexOf(VALUE, at + 1)) seen += 1;
      if (before < values && seen >= values) done();
    });
  });
}
