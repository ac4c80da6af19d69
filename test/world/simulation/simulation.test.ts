import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { ROOT } from "../../shared/root.ts";
import { PLANTS } from "./plants.ts";

/** Plays simulations in a process of their own, since they replace all its clocks and timers. */
async function simulate(...args: readonly string[]): Promise<{ status: number; lines: string[] }> {
  const child = spawn(
    process.execPath,
    ["--no-warnings", "--import", "tsx", "test/world/simulation/main.ts", ...args],
    {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let output = "";
  child.stdout.on("data", (text: Buffer) => {
    output += text;
  });
  const [status] = (await once(child, "close")) as [number];
  return { status, lines: output.trim().split("\n") };
}

/** Without the real time that it took. */
const untimed = (lines: readonly string[]) => lines.map((line) => line.replace(/ in [\d.]+ s of CPU/, ""));

describe("a simulated deployment", function () {
  this.timeout(240_000);

  it("keeps every promise under faults, and plays the same history again for the same seed", async () => {
    const [first, second] = [await simulate("--seed=1", "--minutes=5"), await simulate("--seed=1", "--minutes=5")];
    expect(first.status, first.lines.join("\n")).to.equal(0);
    expect(untimed(second.lines)).to.deep.equal(untimed(first.lines));
  });

  for (const plant of Object.keys(PLANTS))
    it(`breaks a promise with a mistake in the Lua: ${plant}`, async () => {
      const { status, lines } = await simulate("--seed=1", "--seeds=20", "--minutes=10", `--plant=${plant}`);
      expect(status, lines.join("\n")).to.equal(1);
      expect(lines.at(-1)).to.match(/broken promises; again: npm run simulate -- --seed \d+ --minutes 10 --plant /);
    });
});
