import { randomUUID } from "node:crypto";
import type { TaskContext } from "../../src/handler/task-context.ts";
import { deferred } from "./deferred.ts";

/** Lets a test decide when the tasks of the queue `gated` go on. */
export interface Gate {
  readonly name: string;
  /** The input that makes a task stop here. */
  readonly input: { readonly gate: string };
  /** Resolves with the arguments of the handler when a task has reached the gate. */
  readonly entered: Promise<TaskContext>;
  /** Lets the task finish with this value. */
  open(value?: unknown): void;
  /** Lets the task throw this. */
  break(error: unknown): void;
}

interface Held extends Gate {
  enter(task: TaskContext): void;
  readonly passed: Promise<unknown>;
}

/** Handlers are loaded into the test's own process, but perhaps by another instance of this module. */
const shared = globalThis as { paihaoTestGates?: Map<string, Held> };
shared.paihaoTestGates ??= new Map();
const gates = shared.paihaoTestGates;

/** Makes a closed gate. */
export function closedGate(): Gate {
  const name = randomUUID();
  const entered = deferred<TaskContext>();
  const passed = deferred<unknown>();
  // If the gate fails after its task was aborted, nobody awaits it.
  passed.promise.catch(() => undefined);
  const gate: Held = {
    name,
    input: { gate: name },
    entered: entered.promise,
    passed: passed.promise,
    enter: entered.resolve,
    open: (value) => passed.resolve(value),
    break: passed.reject,
  };
  gates.set(name, gate);
  return gate;
}

/** Opens all gates that are still closed, so that a test that fails does not hold up those after it. */
export function openGates(): void {
  for (const gate of gates.values()) gate.open();
}

/** The work of the handler: reports that it has reached the gate, then waits until the gate opens or its signal fires. */
export function passGate(name: string, task: TaskContext): Promise<unknown> {
  const gate = gates.get(name);
  if (!gate) throw new Error(`no gate ${name}`);
  gate.enter(task);
  return new Promise((resolve, reject) => {
    gate.passed.then(resolve, reject);
    task.signal.addEventListener("abort", () => reject(task.signal.reason));
  });
}
