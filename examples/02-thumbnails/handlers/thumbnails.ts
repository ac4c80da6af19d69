import { defineHandler, giveUp } from "paihao";
import sharp from "sharp";

const WIDTH = { min: 1, max: 4096, default: 320 } as const;
/**
 * The maximum number of pixels of the input, those of a 100-megapixel camera. A PNG of a few kilobytes can declare far more and
 * would fill the memory.
 */
const MAX_PIXELS = 100_000_000;
/** The limit of the WebP format for each side. */
const WEBP_MAX_SIDE = 16_383;
/** The work cannot be interrupted from here, so libvips has a timeout of its own. */
const TIME_LIMIT_S = 30;
/** Only raster images. SVG and PDF are more like programs, which callers must not run here. */
const FORMATS: readonly string[] = ["jpeg", "png", "webp", "gif", "tiff", "heif"];

/**
 * Makes a small WebP of an image, `?width=` pixels wide (default 320), rotated by its EXIF orientation, never larger than the
 * image itself; of an animation, the first frame.
 */
export const thumbnails = defineHandler({
  queue: "thumbnails",
  consumes: ["image/*"],
  timeout: "1m",
  async run(picture: Uint8Array, task) {
    const width = widthOf(task.query.width);
    await checkPicture(picture);
    task.signal.throwIfAborted();
    const small = await open(picture)
      .autoOrient()
      .resize({ width, height: WEBP_MAX_SIDE, fit: "inside", withoutEnlargement: true })
      .webp({ quality: 80 })
      .timeout({ seconds: TIME_LIMIT_S })
      .toBuffer()
      .catch((error: unknown) => {
        // The machine may have been busy, so it is worth another attempt.
        throw error instanceof Error && /^timeout\b/i.test(error.message) ? error : notAPicture(error);
      });
    return new Response(new Uint8Array(small), { headers: { "content-type": "image/webp" } });
  },
});

function widthOf(written = String(WIDTH.default)): number {
  const width = /^\d{1,5}$/.test(written) ? Number(written) : Number.NaN;
  if (width >= WIDTH.min && width <= WIDTH.max) return width;
  throw giveUp({
    status: 400,
    title: "A parameter or header has an invalid value",
    detail: `width is ${JSON.stringify(written)}, expected a whole number from ${WIDTH.min} to ${WIDTH.max}`,
  });
}

function open(picture: Uint8Array) {
  return sharp(picture, { limitInputPixels: MAX_PIXELS, failOn: "error" });
}

async function checkPicture(picture: Uint8Array): Promise<void> {
  if (picture.byteLength === 0) throw notAPicture("the body is empty");
  const { format, width, height } = await open(picture)
    .metadata()
    .catch((error: unknown) => {
      throw notAPicture(error);
    });
  if (!FORMATS.includes(format)) throw notAPicture(`${format} is not one of ${FORMATS.join(", ")}`);
  if (width * height > MAX_PIXELS) throw notAPicture(`${width} × ${height} are more than ${MAX_PIXELS} pixels`);
}

/** A message of sharp may have several lines; the first is the readable one. */
function notAPicture(reason: unknown) {
  const [detail = ""] = (reason instanceof Error ? reason.message : String(reason)).split("\n", 1);
  return giveUp({ status: 422, title: "Not a picture that can be read", detail });
}
