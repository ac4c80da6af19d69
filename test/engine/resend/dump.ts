import type { Connection } from "../../../src/store/connection.ts";
import { keysLike } from "../../helpers/store/scan.ts";
import { GROUP, QUEUE, storedKey } from "../../helpers/store/stored.ts";

/** Fields that hold a time, or what follows from the times of calls. */
const OF_TIME =
  /^(?:c|e|x|D|at|ended|hlc|fence|service|liveUntil|needed|warmup|keptUntil|sampled|looked|grace|away|since|latest|created|revision|after|held|ticked|gone|till)$/;
/** A rate bucket holds its number above its count. */
const BUCKET = /^[azeb]\d$/;
const BUCKET_SHIFT = 2 ** 24;
const RESERVATION = QUEUE.reservation;

/** Everything in a partition that does not tell when it was written: for holding two stores against each other. */
export async function contents(redis: Connection, tag: string): Promise<Record<string, unknown>> {
  const keys = await keysLike(redis, `${tag}*`);
  const all = await Promise.all(
    keys.sort().map(async (key): Promise<[string, unknown]> => {
      const ttl = await redis.pttl(key);
      return [key.slice(tag.length), { value: await written(redis, key, tag), expires: ttl > 0 }];
    }),
  );
  // What follows from a task's end is named by the time of it.
  return JSON.parse(JSON.stringify(Object.fromEntries(all)).replaceAll(/(:webhook:(?:group:)?)\d+/g, "$1…")) as Record<
    string,
    unknown
  >;
}

async function written(redis: Connection, key: string, tag: string): Promise<unknown> {
  const kind = key.slice(tag.length)[0];
  const type = await redis.type(key);
  // A fence is a time.
  if (kind === "m" && type === "string") return (await redis.get(key))?.replace(/ \d+ /, " some ");
  if (type === "string") return redis.get(key);
  if (type === "zset") return redis.zrange(key, "0", "-1");
  // Starts are times, and live workers carry one: how many there are is what counts.
  if (type === "list") return redis.llen(key);
  if (type === "stream") return redis.xlen(key);
  const fields = Object.entries(await redis.hgetall(key)).filter(([name]) => !OF_TIME.test(name));
  const rates = fields.filter(([name]) => kind === "q" && BUCKET.test(name));
  // What is counted in two calls may be in two buckets.
  const counted = rates.reduce((sum, [, value]) => sum + (Number(value) % BUCKET_SHIFT), 0);
  const others = fields.filter((field) => !rates.includes(field));
  const values = Object.fromEntries(
    others.map(([name, value]) => {
      if (kind === "q" && name.startsWith(RESERVATION)) return [name, value.replace(/ \d+/, " some")];
      if (key === storedKey(tag, "queues")) return [name, value.replace(/^\d+/, "some")];
      if (name === "rest" || name === "probe") return [name, value.replaceAll(/\d{13}/g, "some")];
      if (name === "V") return [name, value.replaceAll(/([frl])\d{14,}=/g, "$1 some=")];
      if (kind === "g" && (name === GROUP.closed || name === GROUP.canceled)) return [name, "some"];
      if (kind === "t" && name === "p") return [name, value.replace(/ \d+ /, " some ")];
      if (kind === "t" && name === "o") return [name, "some"];
      if (kind === "t" && (name === "K" || name === "+")) return [name, value.replace(/^\d+/, "some")];
      if (kind === "v" && (name === "past" || name === "logs")) return [name, value.replaceAll(/\d{13}/g, "some")];
      if (kind === "t" && (name === "C" || name === "j")) return [name, "some"];
      // A run holds fence, begin and place.
      if (kind === "t" && name === "f") return [name, value.replace(/^\d+ (?:(-)|\S+) (\d+) \S+/, "some $1 $2 some")];
      return [name, value];
    }),
  );
  // Service times differ, but not how many there are.
  const service = kind === "q" ? await redis.hget(key, QUEUE.service) : null;
  return {
    ...values,
    ...(rates.length > 0 && { counted }),
    ...(service && { samples: Number.parseInt(service, 10) }),
  };
}
