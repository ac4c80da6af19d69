import { closedGate } from "../../helpers/gates.ts";
import type { TestServer } from "../../helpers/http/server.ts";
import { eventually } from "../../shared/eventually.ts";

/** A task, with what was submitted: the same again is the same task. */
export interface Submitted {
  readonly id: string;
  readonly queue: string;
  readonly input: unknown;
}

/** Every state that a caller can meet a task in, and what becomes of a result. */
export const CONDITIONS = [
  ...(["waiting", "scheduled", "running", "retrying"] as const),
  ...(["succeeded", "failed", "canceled", "expired", "deleted"] as const),
] as const;
export type Condition = (typeof CONDITIONS)[number];

export const PENDING: readonly Condition[] = CONDITIONS.slice(0, 4);
export const ENDED: readonly Condition[] = CONDITIONS.slice(4);

/** A task in each of them, for the handlers of `test/fixtures/handlers`, and what lets go of those that are held. */
export interface TasksOfEach {
  readonly tasks: Readonly<Record<Condition, Submitted>>;
  release(): void;
}

/** Brings a task into each state. */
export async function tasksOfEach(server: TestServer): Promise<TasksOfEach> {
  const submit = async (queue: string, input: unknown, search = ""): Promise<Submitted> => ({
    id: await server.enqueue(queue, input, search),
    queue,
    input,
  });
  const remove = (id: string) => server.send(`/v1/requests/${id}`, { method: "DELETE" });

  const [first, second, broken] = [closedGate(), closedGate(), closedGate()];
  const running = await submit("gated", first.input);
  await first.entered;
  const waiting = await submit("gated", second.input);
  const retrying = await submit("gated-too", broken.input);
  await broken.entered;
  broken.break(new Error("once more"));
  await server.until(retrying.id, "retrying");
  const scheduled = await submit("default", { n: 1 }, "?delay=3600");
  const succeeded = await submit("default", { n: 2 });
  const deleted = await submit("default", { n: 3 });
  const failed = await submit("failing", {});
  const canceled = await submit("default", { n: 4 }, "?delay=3600");
  const expired = await submit("brief", {});
  await remove(canceled.id);
  for (const { id } of [succeeded, deleted, expired]) await server.until(id, "succeeded");
  await remove(deleted.id);
  await server.until(failed.id, "failed");
  await eventually(async () => (await server.send(`/v1/requests/${expired.id}`)).status === 410);
  return {
    tasks: { waiting, scheduled, running, retrying, succeeded, failed, canceled, expired, deleted },
    release: () => {
      first.open();
      second.open();
    },
  };
}
