import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { crc32 } from "node:zlib";
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

  it("accepts only images", () => {
    expect(thumbnails.consumes).to.deep.equal(["image/*"]);
  });

  it("returns a WebP with a width of 320 pixels and the original proportions", async () => {
    const response = await run(await picture(1000, 500).png().toBuffer());
    expect(response.status).to.equal(200);
    expect(response.headers.get("content-type")).to.equal("image/webp");
    expect(await sizeOf(response)).to.deep.equal({ format: "webp", width: 320, height: 160, pages: 1 });
  });

  it("uses the width in the query", async () => {
    const png = await picture(1000, 500).png().toBuffer();
    expect(await sizeOf(await run(png, { width: "100" }))).to.include({ width: 100, height: 50 });
    expect(await sizeOf(await run(png, { width: "1" }))).to.include({ width: 1, height: 1 });
  });

  it("never enlarges", async () => {
    const jpeg = await picture(40, 30).jpeg().toBuffer();
    expect(await sizeOf(await run(jpeg, { width: "4096" }))).to.include({ width: 40, height: 30 });
  });

  it("applies the EXIF orientation before the width", async () => {
    const lying = await picture(200, 100).jpeg().withMetadata({ orientation: 6 }).toBuffer();
    const response = await run(lying, { width: "50" });
    const upright = sharp(Buffer.from(await response.clone().arrayBuffer()));
    expect(await sizeOf(response)).to.include({ width: 50, height: 100 });
    // Turned clockwise, the left half is on top.
    const { data } = await upright.raw().toBuffer({ resolveWithObject: true });
    expect(data[0], "red at the top").to.be.above(200);
    expect(data.at(-1), "blue at the bottom").to.be.above(200);
  });

  it("reads WebP, TIFF, AVIF and the first frame of an animated GIF", async () => {
    const frames = [0, 1, 2].map((i) =>
      picture(60, 60)
        .linear(1 - i / 4, 0)
        .png()
        .toBuffer(),
    );
    const gif = await sharp(await Promise.all(frames), { join: { animated: true } })
      .gif()
      .toBuffer();
    expect((await sharp(gif, { animated: true }).metadata()).pages).to.equal(3);
    for (const input of [
      gif,
      await picture(60, 60).webp().toBuffer(),
      await picture(60, 60).tiff().toBuffer(),
      await picture(60, 60).avif().toBuffer(),
    ]) {
      expect(await sizeOf(await run(input, { width: "30" }))).to.include({ width: 30, height: 30, pages: 1 });
    }
  });

  it("shrinks an image that is taller than WebP allows", async () => {
    const tower = await picture(10, 40_000).png().toBuffer();
    const { height } = await sizeOf(await run(tower));
    expect(height).to.be.within(16_000, 16_383);
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

  it("gives up on SVG, which can contain scripts", async () => {
    const svg = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="5" height="5"/></svg>',
    );
    expect(await problem(svg)).to.deep.include({
      status: 422,
      detail: "svg is not one of jpeg, png, webp, gif, tiff, heif",
    });
  });

  it("gives up on a small file that claims to be an enormous image", async () => {
    const png = await picture(10, 10).png().toBuffer();
    // Width and height stand in the header's chunk, which ends with its checksum.
    png.writeUInt32BE(50_000, 16);
    png.writeUInt32BE(50_000, 20);
    png.writeUInt32BE(crc32(png.subarray(12, 29)), 29);
    const { status, detail } = await problem(png);
    expect(status).to.equal(422);
    expect(detail).to.match(/pixel/);
  });

  it("does not begin once the signal has fired", async () => {
    const reason = new Error("canceled");
    const { task } = taskContext({ signal: AbortSignal.abort(reason) });
    const png = await picture(10, 10).png().toBuffer();
    expect(await thrownBy(() => thumbnails.run(png, task))).to.equal(reason);
  });
});
