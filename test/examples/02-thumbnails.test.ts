import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { expect } from "chai";
import sharp from "sharp";
import { thumbnails } from "../../examples/02-thumbnails/handlers/thumbnails.ts";
import { isGiveUp, type Problem } from "../../src/handler/intents.ts";
import { taskContext, thrownBy } from "../handlers/context.ts";
import { builtSettings } from "../helpers/build.ts";
import { ROOT } from "../shared/root.ts";

/** A picture whose left half is red and whose right half is blue. */
const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: "blue" } }).composite([
    { input: { create: { width: Math.ceil(width / 2), height, channels: 3, background: "red" } }, left: 0, top: 0 },
  ]);

const run = async (input: Uint8Array, query: Record<string, string> = {}): Promise<Response> => {
  const { task } = taskContext({ query, mediaType: "image/png" });
  return (await thumbnails.run(input, task)) as Response;
};
const sizeOf = async (response: Response) => {
  const { format, width, height, pages = 1 } = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
  return { format, width, height, pages };
};
const problem = async (input: Uint8Array, query: Record<string, string> = {}): Promise<Problem> => {
  const thrown = await thrownBy(() => run(input, query));
  if (!isGiveUp(thrown)) throw thrown;
  return thrown.problem;
};

describe("examples/02-thumbnails", () => {
  it("is a program that makes them, until it is interrupted", async function () {
    this.timeout(60_000);
    const main = path.join(ROOT, "examples/02-thumbnails/main.ts");
    const program = spawn(process.execPath, ["--import", "tsx", main], {
      cwd: ROOT,
      env: { ...process.env, TSX_TSCONFIG_PATH: builtSettings() },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(program, "exit");
    try {
      const url = await new Promise<string>((resolve) => {
        let said = "";
        program.stdout.setEncoding("utf8").on("data", (text: string) => {
          said += text;
          const [, found] = /'(http\S+)'/.exec(said) ?? [];
          if (found !== undefined) resolve(found);
        });
      });
      const body = new Uint8Array(await picture(400, 200).png().toBuffer());
      const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "image/png" }, body });
      expect(await sizeOf(answer)).to.include({ format: "webp", width: 200, height: 100 });
      program.kill("SIGINT");
      expect(await ended).to.deep.equal([0, null]);
    } finally {
      program.kill("SIGKILL");
    }
  });

  it("returns a WebP with a width of 320 pixels and the original proportions", async () => {
    const response = await run(await picture(1000, 500).png().toBuffer());
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.equal("image/webp");
    expect(await sizeOf(response)).to.deep.equal({ format: "webp", width: 320, height: 160, pages: 1 });
  });

  it("gives up on a width that is not allowed, naming it", async () => {
    const png = await picture(10, 10).png().toBuffer();
    for (const width of ["0", "4097", "-1", "1.5", "1e3", "", "wide", "99999999999"]) {
      expect(await problem(png, { width }), width).to.include({
        status: 400,
        detail: `width is ${JSON.stringify(width)}, expected a whole number from 1 to 4096`,
      });
    }
  });

  it("gives up on data that is not an image, or is truncated", async () => {
    const jpeg = await picture(500, 500).jpeg().toBuffer();
    const png = await picture(500, 500).png().toBuffer();
    for (const input of [
      new Uint8Array(),
      Buffer.from("certainly no picture"),
      jpeg.subarray(0, 20),
      jpeg.subarray(0, jpeg.length / 2),
      png.subarray(0, png.length / 2),
    ]) {
      const { status, title, detail } = await problem(input);
      expect({ status, title }).to.deep.equal({ status: 422, title: "Not a picture that can be read" });
      expect(detail).to.be.a("string").that.is.not.empty;
      expect(detail).to.not.contain("\n");
    }
  });
});
