import { relative } from "node:path";
import mocha from "mocha";
import { ROOT } from "../test/shared/root.ts";

const { Base } = mocha.reporters;

/** A line for each file that has ended; at the end the failures, the skipped tests and the totals, which are always the last line. */
class FileByFile extends Base {
  constructor(runner: mocha.Runner, options: mocha.MochaOptions & { readonly files?: readonly string[] }) {
    super(runner, options);
    const { stats } = this;
    const begunMs = performance.now();
    const skipped: string[] = [];
    let file: string | undefined;
    let [files, before, tookMs] = [0, { ...stats }, 0];
    // Files run in parallel, but their events arrive one file after the other.
    const end = () => {
      if (file === undefined) return;
      files += 1;
      const [passed, failed] = [stats.passes - before.passes, stats.failures - before.failures];
      const counts = `${passed} passed${failed > 0 ? `, ${failed} FAILED` : ""}, ${(tookMs / 1000).toFixed(1)} s`;
      console.log(
        `▸ ${clock(performance.now() - begunMs)} ${files}/${options.files?.length} ${nameOf(file)}: ${counts}`,
      );
      [file, before, tookMs] = [undefined, { ...stats }, 0];
    };
    const enter = (test: mocha.Runnable) => {
      if (test.file === undefined || test.file === file) return;
      end();
      file = test.file;
    };
    runner.prependListener("pass", enter);
    runner.prependListener("fail", enter);
    runner.prependListener("pending", enter);
    runner.on("pass", ({ duration = 0 }) => {
      tookMs += duration;
    });
    runner.on("fail", (test: mocha.Runnable) => console.log(`  failed: ${test.fullTitle()}`));
    runner.on("pending", (test: mocha.Test) => skipped.push(test.fullTitle()));
    runner.once("end", () => {
      end();
      for (const title of skipped) console.log(`▸ skipped: ${title}`);
      if (this.failures.length > 0) Base.list(this.failures);
      for (const test of this.failures)
        console.log(`✘ ${nameOf(test.file ?? "")}: ${test.fullTitle()}: ${test.err?.message.split("\n")[0]}`);
      console.log(`${stats.passes} passed, ${stats.failures} failed, ${stats.pending} skipped`);
    });
  }
}

const nameOf = (file: string): string => relative(ROOT, file).replaceAll("\\", "/");

/** A time as m:ss. */
function clock(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

// biome-ignore lint/style/noDefaultExport: mocha takes a reporter from the default export
export default FileByFile;
