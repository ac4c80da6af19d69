import type { AttendVerdict } from "../../store/task/attend.ts";
import type { Engine } from "../engine.ts";
import type { Inspection } from "./inspect.ts";
import { isKeptByLooks, keptUntil } from "./presence.ts";
import { versionOf } from "./version.ts";

/** The part of a document that every watch needs. */
export type Common = Pick<Inspection, "id" | "queue" | "index" | "nowMs" | "presentUntilMs">;

/** What can be watched: tasks, or groups. */
export interface Watched<Seen extends Common> {
  readonly notices: Pick<Engine["notices"], "listen">;
  readonly queues: Pick<Engine["queues"], "figures">;
  /** Shortest time between two reads of one after notices, ms; only its end is read at once. */
  readonly restMs: number;
  /** The name under which it gets notices. */
  address(id: string): string;
  /** @param listen adds this process to the listeners in its record */
  inspect(id: string, listen: boolean): Promise<Seen | null>;
  /** Changes with everything that is reported. */
  versionOf(seen: Seen): string;
  /** Whether a look keeps it for longer. */
  isKeptByLooks(seen: Seen): boolean;
  attend(seen: Seen): Promise<AttendVerdict>;
  keptUntil(seen: Seen, nowMs: number): number;
}

/** The tasks of an engine. */
export function watchedTasks({
  notices,
  queues,
  inspector,
}: Pick<Watched<Common>, "notices" | "queues"> & {
  readonly inspector: Pick<Engine["inspector"], "inspect" | "attend">;
}): Watched<Inspection> {
  return {
    ...{ notices, queues, restMs: 0, versionOf, isKeptByLooks, keptUntil },
    address: (id) => id,
    inspect: (id, listen) => inspector.inspect(id, { result: false, listen }),
    attend: (seen) => inspector.attend(seen),
  };
}
