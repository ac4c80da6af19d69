import { forkSubject, type HowToStart, type Subject, track } from "./process.ts";

/** The messages between the benchmark and a process under test. */
type Message =
  | { readonly call: number; readonly name: string; readonly args: unknown }
  | { readonly answer: number; readonly value: unknown; readonly error: string | null }
  | { readonly event: unknown };

/** The calls that a process under test answers: one argument and one answer each. */
// biome-ignore lint/suspicious/noExplicitAny: a call may take and give anything that JSON can hold
export type Calls = Readonly<Record<string, (args: any) => Promise<unknown>>>;

/** A process under test that answers calls. */
export interface Callable<C extends Calls> extends Subject {
  call<K extends keyof C & string>(name: K, args: Parameters<C[K]>[0]): Promise<Awaited<ReturnType<C[K]>>>;
  /** Listens to events of the process. */
  onEvent(listener: (event: unknown) => void): void;
}

/** Starts a file of bench/subjects that calls {@link serve}. */
export function startCallable<C extends Calls>(
  name: string,
  args: readonly string[] = [],
  how: HowToStart = {},
): Callable<C> {
  const child = forkSubject(name, args, how);
  const open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const listeners: ((event: unknown) => void)[] = [];
  let calls = 0;
  child.on("message", (message: Message) => {
    if ("event" in message) for (const listener of listeners) listener(message.event);
    if (!("answer" in message)) return;
    const waiting = open.get(message.answer);
    open.delete(message.answer);
    if (message.error === null) waiting?.resolve(message.value);
    else waiting?.reject(new Error(`${name}: ${message.error}`));
  });
  child.on("exit", () => {
    for (const { reject } of open.values()) reject(new Error(`${name} ended in the middle of a call`));
  });
  return {
    ...track(child),
    call: (method, methodArgs) =>
      new Promise((resolve, reject) => {
        calls += 1;
        open.set(calls, { resolve: resolve as (value: unknown) => void, reject });
        child.send({ call: calls, name: method, args: methodArgs } satisfies Message);
      }),
    onEvent: (listener) => listeners.push(listener),
  };
}

/** In the process under test: answers the calls of the benchmark. */
export function serve(calls: Calls): void {
  process.on("message", (message: Message) => {
    if (!("call" in message)) return;
    const answer = (value: unknown, error: string | null) =>
      process.send?.({ answer: message.call, value, error } satisfies Message);
    const call = calls[message.name];
    if (!call) {
      answer(null, `there is no call ${message.name}`);
      return;
    }
    call(message.args).then(
      (value) => answer(value ?? null, null),
      (error: unknown) => answer(null, error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
  });
}

/** In the process under test: sends an event to the benchmark. */
export function tell(event: unknown): void {
  process.send?.({ event } satisfies Message);
}
