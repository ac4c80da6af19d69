import { expect } from "chai";
import { openEngine } from "../../helpers/engine.ts";
import { contents } from "./dump.ts";
import { Scene } from "./scene.ts";

/** A call that is sent twice in some situation; both of its replies where they are told apart. */
export interface Resent {
  given(scene: Scene): Promise<unknown>;
  call(scene: Scene): Promise<unknown>;
  readonly replies?: readonly [first: unknown, second: unknown] | undefined;
}

/** Holds a store in which a call was sent twice against one in which it was sent once. */
export async function sentTwice({ given, call, replies }: Resent): Promise<void> {
  const [once, twice] = await Promise.all([openEngine(), openEngine()]);
  try {
    const [single, double] = [new Scene(once), new Scene(twice)];
    await given(single);
    await given(double);
    const alone = await call(single);
    const both = await Promise.all([call(double), call(double)]);
    if (replies) expect([alone, ...both]).to.deep.equal([replies[0], ...replies]);
    expect(await contents(twice.redis, double.tag)).to.deep.equal(await contents(once.redis, single.tag));
  } finally {
    await Promise.all([once.close(), twice.close()]);
  }
}
