import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What this process keeps in its heap and in buffers, in MB, after a collection. */
export async function keptMb(): Promise<number> {
  // What is let go by a timer or a microtask is let go first.
  await new Promise((resolve) => setImmediate(resolve));
  // The first one only begins to free buffers.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}
