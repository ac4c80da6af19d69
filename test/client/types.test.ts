import { expect } from "chai";
import { defineHandler, defineTurns } from "paihao";
import type { PaihaoClient, Status } from "paihao/client";
import type { Task } from "../../src/wire/task.ts";
import type * as handlers from "../fixtures/handlers/client/handlers.ts";

/** Whether two types are the same; compiles only as `true` where they are. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(is: Same<A, B>) => is;

/** Never called: it is the compiler that tests it, in `npm run check`. */
async function compiles(
  client: PaihaoClient<typeof handlers>,
  untyped: PaihaoClient,
  { hidden, shown, turns }: ReturnType<typeof unnamed>,
): Promise<void> {
  // The input is what callers send, not what the schema makes of it.
  await client.submit("greet", { name: "Ada", times: "2" });
  // @ts-expect-error a queue that does not exist
  await client.submit("great", { name: "Ada" });
  // @ts-expect-error an input of another type
  await client.submit("greet", { name: 1 });
  // @ts-expect-error an input that lacks a member
  await client.run("greet", {});
  // @ts-expect-error JSON where bytes are taken
  await client.run("mirror", { bytes: [] });
  await client.run("mirror", new Blob([]));
  // @ts-expect-error inputs of another type
  client.batch("greet", [1]);
  client.batch("greet", [{ name: "Ada" }]);

  // The result is what JSON makes of what the handler returns.
  const greeting = await client.run("greet", { name: "Ada" });
  same<typeof greeting.at, string>(true);
  same<typeof greeting.greeting, string>(true);
  // @ts-expect-error a member that the result does not have
  greeting.other;
  const bytes = await client.run("mirror", new Uint8Array());
  same<typeof bytes, Uint8Array>(true);
  const none = await client.run("nothing", null);
  same<typeof none, undefined>(true);
  const count = await client.result(await client.submit("words", { words: [] }));
  same<typeof count, number>(true);
  const page = await client.run("page", { body: "", type: "text/html" }, { as: "response" });
  same<typeof page, Response>(true);
  const named = await client.result<"words">("an-id");
  same<typeof named, number>(true);

  for await (const status of client.watch<"words">("an-id")) {
    // @ts-expect-error only a waiting task has an index that is a number
    status.index.toFixed();
    if (status.state === "waiting") same<typeof status.index, number>(true);
    if (status.state === "running") same<typeof status.startedAt, string>(true);
    if (status.state === "failed") same<typeof status.error.message, string>(true);
    if (status.state === "succeeded") same<typeof status.result, number | undefined>(true);
    // @ts-expect-error no such state
    if (status.state === "done") return;
  }

  // A handler whose queue the compiler does not know does not open the client to any queue.
  await shown.submit("shown", { n: 1 });
  same<Awaited<ReturnType<typeof shown.run<"shown">>>, number>(true);
  // @ts-expect-error an input of another type
  await shown.submit("shown", { n: "1" });
  // @ts-expect-error "defineHandler<Input>(…) hides the name of its queue and its result; …"
  await hidden.submit("hidden", { n: 1 });
  // @ts-expect-error nor another queue
  await hidden.submit("other", { n: 1 });

  // A turn is of a queue, and what its work returns is what comes back.
  const turned = await turns.turn("gpu", ({ fence, signal }) => (signal.aborted ? null : fence), { input: 1 });
  same<typeof turned, number | null>(true);
  // @ts-expect-error a queue that does not exist
  await turns.turn("cpu", () => 1);
  // @ts-expect-error others may have the key, too
  await turns.turn("gpu", () => 1, { idempotencyKey: "shared" });

  // Without the types of handlers: any queue, any input.
  await untyped.submit("whatever", { any: "thing" });
  const unknown = await untyped.run("whatever", 1);
  same<typeof unknown, unknown>(true);
  // @ts-expect-error a result of unknown type
  unknown.length;
}

/** Clients of handlers with the input as an argument of the type, which leaves no room for inference, and of `run`; and of turns. */
function unnamed(connect: <H>() => PaihaoClient<H>) {
  const hidden = defineHandler<{ n: number }>({ queue: "hidden", run: ({ n }) => n });
  const gpu = defineTurns({ queue: "gpu" });
  const shown = defineHandler({ queue: "shown", run: ({ n }: { n: number }) => n });
  return {
    hidden: connect<{ hidden: typeof hidden; shown: typeof shown }>(),
    shown: connect<{ shown: typeof shown }>(),
    turns: connect<{ gpu: typeof gpu }>(),
  };
}

/** Each status is the document of the server, with what its state says of it. */
const documentOf = (status: Status): Task => status;

describe("the types of the client", () => {
  it("compile", () => {
    for (const checked of [compiles, unnamed, documentOf]) expect(checked).to.be.a("function");
  });
});
