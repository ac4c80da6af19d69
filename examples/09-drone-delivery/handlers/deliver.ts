import { defineHandler, giveUp, type TaskContext } from "paihao";
import { z } from "zod";
import type { ServiceName } from "../services/services.ts";

const order = z.strictObject({
  account: z.string(),
  kg: z.number().positive().max(5),
  from: z.string(),
  to: z.string(),
});

/** The requests to each service, and the members of its answers that others need. */
interface Documents {
  readonly accounts: { readonly heldCents: number };
  readonly packages: { readonly tag: string };
  readonly transport: { readonly carrier: string };
  readonly drones: { readonly drone: string };
  readonly deliveries: { readonly status: string };
}

/**
 * Schedules a delivery: five services are called in order, each in a durable step. If a service fails for a while, the attempt
 * fails, and the next one continues after the completed steps. If a service refuses, the delivery ends, and the completed steps
 * are undone, the last one first.
 */
export const deliver = defineHandler({
  queue: "deliveries",
  input: order,
  attempts: 25,
  backoff: { base: "100ms", max: "5s" },
  timeout: "30s",
  concurrency: 50,
  async run({ account, kg, from, to }, task) {
    const { id, signal } = task;
    const book = <S extends ServiceName>(service: S, body: object): Promise<Documents[S]> =>
      task.step(service, () => put(service, id, body, signal));

    await book("accounts", { account });
    const { tag } = await book("packages", { kg });
    await book("transport", { from });
    const { drone } = await book("drones", { kg });
    await book("deliveries", { drone, to });
    return { drone, package: tag, status: "scheduled" };
  },
  undo: {
    accounts: withdraw("accounts"),
    packages: withdraw("packages"),
    transport: withdraw("transport"),
    drones: withdraw("drones"),
    deliveries: withdraw("deliveries"),
  },
});

/** Asks a service to do its part. The task's id is the document's, so that a service that is asked twice does it once. */
async function put<S extends ServiceName>(service: S, id: string, body: object, signal: AbortSignal) {
  const response = await call(service, "PUT", id, signal, body);
  // It already existed: the answer to an earlier request was lost.
  const found = response.status === 204 ? await call(service, "GET", id, signal) : response;
  return (await found.json()) as Documents[S];
}

/** Undoes what a step did; a service that does not know the document has nothing to undo. */
function withdraw(service: ServiceName) {
  return async (_done: unknown, { task }: { task: Pick<TaskContext, "id" | "signal"> }) => {
    await call(service, "DELETE", task.id, task.signal);
  };
}

/** @throws giveUp when the service refuses, an error when it may work later */
async function call(service: ServiceName, method: string, id: string, signal: AbortSignal, body?: object) {
  const base = process.env[`${service.toUpperCase()}_URL`];
  const response = await fetch(`${base}/${id}`, {
    method,
    signal,
    ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
  });
  if (response.ok) return response;
  await response.body?.cancel();
  if (response.status === 422) throw giveUp({ status: 422, title: "The delivery is not possible", detail: service });
  throw new Error(`${service} answered ${response.status}`);
}
