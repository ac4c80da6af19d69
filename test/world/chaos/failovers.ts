import { setTimeout as delay } from "node:timers/promises";
import { startTcpProxy } from "../../helpers/tcp-proxy.ts";
import { eventually } from "../../shared/eventually.ts";
import type { PrivateRedis } from "../../shared/redis-server.ts";
import type { Strike, World } from "./deployment.ts";

/** How long the promoted replica has received nothing, ms. */
const LAG_MS = 1000;

/** Makes the replica the master. */
async function promote(world: World, replica: PrivateRedis): Promise<void> {
  await world.adminOf(replica).call("REPLICAOF", "NO", "ONE");
  await world.moveTo(replica);
}

/** Promotes a replica that lacks the last writes of the master. */
async function promoteLagging(world: World, prepare: () => Promise<void>): Promise<void> {
  const wire = await startTcpProxy(world.redis.port);
  try {
    const replica = await world.startReplica(wire.port);
    await prepare();
    // The replica has everything that was accepted with another durability.
    await world.inStep(replica);
    wire.freeze();
    await delay(LAG_MS);
    await world.redis.stop("SIGKILL");
    await promote(world, replica);
  } finally {
    await wire.stop();
  }
}

export const plannedFailover: Strike = async (world) => {
  const replica = await world.startReplica();
  await world.admin.call("FAILOVER", "TO", "127.0.0.1", replica.port);
  await eventually(async () => /^role:master/m.test(await world.adminOf(replica).info("replication")));
  await world.moveTo(replica);
};

export const failover: Strike = async (world, callers) => {
  const replica = await world.startReplica();
  // A submission that only one server has acknowledged could be lost with it; DURABILITY=replica prevents that.
  await callers.pauseWhile(async () => {
    await world.inStep(replica);
    await world.redis.stop("SIGKILL");
  });
  await promote(world, replica);
  // The new master may lack what workers last stored in the old one: that work is done again.
  callers.fork("submissions");
};

export const losingFailover: Strike = async (world, callers) => {
  await promoteLagging(world, async () => undefined);
  // The last second is lost, and DURABILITY=memory promises no more. Every promise is checked for all that comes after it.
  callers.fork("nothing");
};

export const durableFailover: Strike = async (world, callers) => {
  await promoteLagging(world, () => world.replaceApi({ DURABILITY: "replica" }));
  // Outcomes of the last second are lost, so those tasks end a second time; no accepted task is lost.
  callers.fork("submissions");
  // The new master has no replica to confirm writes.
  await world.replaceApi();
};
