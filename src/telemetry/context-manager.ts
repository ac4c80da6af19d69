import { type Context, ROOT_CONTEXT } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import rTracer from "cls-rtracer";

/** The id of what runs now, with the context of its trace. Its text is the id, which is what reads it. */
class TracedId {
  readonly context: Context;
  readonly #id: string;

  constructor(id: string, context: Context) {
    this.#id = id;
    this.context = context;
  }

  toString(): string {
    return this.#id;
  }
}

/**
 * Keeps the context of OpenTelemetry where cls-rtracer keeps the id of the request or task: with a second AsyncLocalStorage every
 * promise of the process would take longer, also where nothing is recorded (`npm run bench -- tracing`). Another id begins outside of
 * any trace.
 */
export class IdContextManager extends AsyncLocalStorageContextManager {
  override active(): Context {
    const current = rTracer.id();
    return current instanceof TracedId ? current.context : ROOT_CONTEXT;
  }

  override with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    context: Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    const id = String(rTracer.id() ?? "");
    return rTracer.runWithId(() => work.apply(self, args), new TracedId(id, context));
  }
}
