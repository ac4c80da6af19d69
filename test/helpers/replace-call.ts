import type { Engine } from "../../src/engine/engine.ts";

/** Replaces a verb of an engine, for all who call it through the engine; returns what puts it back. */
export function replaceCall(
  engine: Engine,
  verb: string,
  replacement: (of: { readonly id: string }, usual: () => Promise<unknown>) => Promise<unknown>,
): () => void {
  const usual = engine.call as (name: string, of: unknown) => Promise<unknown>;
  const call = (name: string, of: { readonly id: string }) =>
    name === verb ? replacement(of, () => usual(name, of)) : usual(name, of);
  Object.assign(engine, { call });
  return () => Object.assign(engine, { call: usual });
}
