import { expect } from "chai";
import { Cluster, Redis } from "ioredis";
import { nodesOf } from "../../src/store/cluster-routing.ts";

/** The slot of this tag is 12739, as the specification of Redis Cluster says. */
const [TAG, SLOT] = ["{123456789}", 12739];
const [A, B, C] = ["127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"];
const PATIENT_MS = 3000;

/** A cluster that consists of its slot table and connections that are never opened. */
class PaperCluster extends Cluster {
  refreshes = 0;
  /** What the cluster says of itself when it is asked. */
  onRefresh: () => void = () => undefined;
  readonly paper = [A, B, C].map(nodeAt);

  constructor() {
    super([{ host: "127.0.0.1", port: 7001 }], { lazyConnect: true });
    this.give(A);
  }

  /** Gives the slot of the tag to a node, and all others to the first; without an owner no slot is known. */
  give(owner: string | undefined): void {
    this.slots = owner === undefined ? [] : Array.from({ length: 16_384 }, (_, slot) => [slot === SLOT ? owner : A]);
  }

  override nodes(): Redis[] {
    return this.paper;
  }

  override refreshSlotsCache(): void {
    this.refreshes += 1;
    this.onRefresh();
  }
}

function nodeAt(address: string): Redis {
  const [host = "", port] = address.split(":");
  return new Redis({ host, port: Number(port), lazyConnect: true });
}

describe("the routing to the nodes of a cluster", () => {
  let cluster: PaperCluster;
  beforeEach(() => {
    cluster = new PaperCluster();
  });

  /**
   * Runs a command that gets these answers, in turn, and then succeeds: an error, or "never" for none.
   * @returns the nodes that were asked, in order, and what the caller got
   */
  const run = async (answers: readonly string[], patienceMs = PATIENT_MS) => {
    const asked: string[] = [];
    const command = (node: Redis) => {
      const answer = answers[asked.length];
      asked.push(`${node.options.host}:${node.options.port}`);
      if (answer === undefined) return Promise.resolve("done");
      return answer === "never" ? new Promise<string>(() => undefined) : Promise.reject(new Error(answer));
    };
    const got = await nodesOf(cluster)
      .run(TAG, command, patienceMs)
      .catch((error: Error) => error.message);
    return [...asked, got];
  };

  it("asks the node that has the slot", async () => {
    cluster.give(B);
    expect(await run([])).to.deep.equal([B, "done"]);
    cluster.give(C);
    expect(await run([])).to.deep.equal([C, "done"]);
    expect(cluster.refreshes).to.equal(0);
  });

  it("follows a node that names another one, and has the slot table read again", async () => {
    expect(await run([`MOVED ${SLOT} ${C}`])).to.deep.equal([A, C, "done"]);
    expect(cluster.refreshes).to.equal(1);
  });

  it("goes by the slot table when the node that was named names another, and then follows again", async () => {
    const answers = [`MOVED ${SLOT} ${B}`, `MOVED ${SLOT} ${C}`, `MOVED ${SLOT} ${C}`];
    expect(await run(answers)).to.deep.equal([A, B, A, C, "done"]);
  });

  it("goes by the slot table when it does not know the node that was named, and for a slot that is being moved", async () => {
    cluster.onRefresh = () => cluster.give(B);
    expect(await run([`MOVED ${SLOT} 127.0.0.1:7009`])).to.deep.equal([A, B, "done"]);
    cluster.give(A);
    expect(await run([`ASK ${SLOT} ${C}`])).to.deep.equal([A, B, "done"]);
  });

  it("waits until a node has the slot", async () => {
    cluster.give(undefined);
    cluster.onRefresh = () => {
      if (cluster.refreshes === 3) cluster.give(B);
    };
    expect(await run([])).to.deep.equal([B, "done"]);
    expect(cluster.refreshes).to.equal(3);
  });

  it("uses the new connection to a node whose old one has ended", async () => {
    const nodes = nodesOf(cluster);
    const identity = (node: Redis) => Promise.resolve(node);
    const [old] = cluster.paper;
    expect(await nodes.run(TAG, identity)).to.equal(old);
    old?.disconnect();
    const fresh = nodeAt(A);
    cluster.paper.push(fresh);
    expect(await nodes.run(TAG, identity)).to.equal(fresh);
  });

  it("tries again while the cluster changes or the node cannot be reached", async () => {
    const changing = [
      ...["TRYAGAIN Multiple keys request during rehashing of slot", "CLUSTERDOWN Hash slot not served"],
      ...["LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down"],
      ...["READONLY You can't write against a read only replica.", "Connection is closed."],
      ...["Stream isn't writeable and enableOfflineQueue options is false", "Command timed out"],
      ...["Socket timeout. Expecting data", "connect ECONNREFUSED 127.0.0.1:7001", "read ECONNRESET", "write EPIPE"],
      "Script attempted to access a non local key in a cluster node",
    ];
    const runs = await Promise.all(changing.map((error) => run([error])));
    expect(runs).to.deep.equal(changing.map(() => [A, A, "done"]));
    expect(cluster.refreshes).to.equal(changing.length);
  });

  it("does not repeat a command that was answered with another error", async () => {
    for (const error of ["OOM command not allowed when used memory > 'maxmemory'.", "ERR TRYAGAIN is no command"])
      expect(await run([error])).to.deep.equal([A, error]);
    expect(cluster.refreshes).to.equal(0);
    expect(await run(["TRYAGAIN", "WRONGTYPE"])).to.deep.equal([A, A, "WRONGTYPE"]);
    expect(cluster.refreshes).to.equal(1);
  });

  it("gives up with the last error once its time is over", async () => {
    expect(await run(["CLUSTERDOWN Hash slot not served"], 0)).to.deep.equal([A, "CLUSTERDOWN Hash slot not served"]);
    cluster.give(undefined);
    expect(await run([], 0)).to.deep.equal(["no node has the slot"]);
  });

  it("gives up a node that does not answer in time, also when it is asked again", async () => {
    expect(await run(["never"], 20)).to.deep.equal([A, "Command timed out"]);
    expect(await run([`MOVED ${SLOT} ${B}`, "never"], 100)).to.deep.equal([A, B, "Command timed out"]);
  });
});

describe("the routing to a single server", () => {
  it("runs every command there, once", async () => {
    const server = nodeAt(A);
    const asked: Redis[] = [];
    const refused = nodesOf(server).run(TAG, (node) => {
      asked.push(node);
      return Promise.reject(new Error("CLUSTERDOWN Hash slot not served"));
    });
    expect(await refused.catch((error: Error) => error.message)).to.equal("CLUSTERDOWN Hash slot not served");
    expect(asked).to.deep.equal([server]);
  });
});
