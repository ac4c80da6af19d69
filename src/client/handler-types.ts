/** Types of queues, their inputs and results, inferred from `typeof handlers`. */

/** The part of a handler's type that the client needs; see `Handler` of the server. */
interface Typed {
  readonly queue: string;
  readonly types?: { readonly input: unknown; readonly result: unknown };
}

/** The handlers of a module, by their queues. Gateways are left out, since they only take requests at their own route. */
type ByQueue<M> = {
  [K in keyof M as M[K] extends { readonly gateway: unknown }
    ? never
    : M[K] extends Typed
      ? NameOf<K, M[K]["queue"]>
      : never]: M[K];
};

/** The name of a queue; where the compiler does not know it, why: all names would be accepted otherwise. */
type NameOf<Export, Queue extends string> = string extends Queue
  ? string extends Export
    ? Queue
    : "defineHandler<Input>(…) hides the name of its queue and its result; write defineHandler({ … run(input: Input) … })"
  : Queue;

type TypesOf<H> = H extends { readonly types?: { readonly input: infer I; readonly result: infer R } }
  ? { input: I; result: R }
  : never;

/** The names of the queues: any name if the client was not given the types of handlers. */
export type QueueName<M> = keyof ByQueue<M> & string;

/** Binary input. */
export type Bytes = Uint8Array | ArrayBuffer | Blob;

/** What a queue accepts. */
export type InputOf<M, Q extends QueueName<M>> = TypesOf<ByQueue<M>[Q]>["input"] extends infer I
  ? I extends Uint8Array
    ? Bytes
    : I
  : never;

/** What a queue answers. */
export type ResultOf<M, Q extends QueueName<M>> = Received<TypesOf<ByQueue<M>[Q]>["result"]>;

/**
 * A result as the client gets it: bytes as bytes, nothing as undefined, a JSON value as JSON makes it. What a Response or a Blob becomes
 * depends on its media type, which the compiler does not know.
 */
export type Received<R> = 0 extends 1 & R
  ? R
  : unknown extends R
    ? unknown
    : R extends Response | Blob
      ? unknown
      : R extends ArrayBuffer | ArrayBufferView | ReadableStream
        ? Uint8Array
        : [R] extends [never]
          ? never
          : R extends Nothing
            ? undefined
            : Json<R>;

// biome-ignore lint/suspicious/noConfusingVoidType: what a function returns that returns nothing
type Nothing = undefined | void;

/** A value after JSON.stringify and JSON.parse. */
type Json<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? unknown
    : T extends { toJSON(): infer J }
      ? Json<J>
      : T extends string | number | boolean | null
        ? T
        : T extends undefined | symbol | bigint | ((...args: never) => unknown)
          ? never
          : T extends readonly unknown[]
            ? { [K in keyof T]: T[K] extends undefined ? null : Json<T[K]> }
            : { [K in keyof T as Kept<K, T[K]>]: Json<Exclude<T[K], undefined>> };

/** Without the members that JSON.stringify leaves out. */
type Kept<K, V> = K extends symbol ? never : V extends symbol | ((...args: never) => unknown) ? never : K;

/** Any queue with any input: the handlers of a client that was given no types. */
export type AnyHandlers = Readonly<
  Record<string, { readonly queue: string; readonly types?: { input: unknown; result: unknown } }>
>;
