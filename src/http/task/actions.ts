import type { Inspection } from "../../engine/watch/inspect.ts";
import { mayBeChosen, type TaskAction } from "../../task.ts";
import type { Api } from "../api.ts";
import { takesInputs } from "../queues/named-queue.ts";
import { ADMIN, SUBMIT } from "../route.ts";
import { type Access, hasScope, mayEnd } from "./access.ts";

/** Whether the caller may send a request for each action; the state of the task decides the rest. */
const RIGHTS: Readonly<Record<TaskAction, (access: Access, api: Pick<Api, "handlers">, task: Inspection) => boolean>> =
  {
    cancel: (access, _, task) => hasScope(access, SUBMIT) && mayEnd(access, task),
    delete: (access, _, task) => hasScope(access, SUBMIT) && mayEnd(access, task),
    move: (access, _, task) => hasScope(access, SUBMIT) && mayEnd(access, task),
    place: (access, { handlers }, { queue, state }) => {
      const { fair, keyed, limit } = handlers.get(queue) ?? {};
      return access.scopes.has("admin") && state === "waiting" && !fair && !keyed && !limit;
    },
    retry: (access) => hasScope(access, ADMIN),
    again: (access, { handlers }, task) =>
      hasScope(access, SUBMIT) && mayEnd(access, task) && takesInputs(handlers.get(task.queue)),
    // The store refuses a submission under the id of another caller's task, even an operator's.
    replace: (access, { handlers }, { id, caller, queue }) =>
      hasScope(access, SUBMIT) && access.caller === caller && mayBeChosen(id) && takesInputs(handlers.get(queue)),
  };

/** What a caller can do to a task now. */
export function actionsOf(access: Access, api: Pick<Api, "handlers">, task: Inspection): readonly TaskAction[] {
  const all = task.allowed.flatMap((action) => (action === "move" ? (["move", "place"] as const) : [action]));
  return all.filter((action) => RIGHTS[action](access, api, task));
}
