import { expect } from "chai";
import { StartError } from "../../src/errors.ts";

/** Waits for a start to fail with a message for a person that has this in it; returns the message. */
export async function expectStartError(start: Promise<unknown>, part: string | RegExp): Promise<string> {
  const error: unknown = await start.then(
    () => expect.fail("it started"),
    (thrown) => thrown,
  );
  expect(error).to.be.instanceOf(StartError);
  const { message } = error as StartError;
  if (typeof part === "string") expect(message).to.contain(part);
  else expect(message).to.match(part);
  return message;
}
