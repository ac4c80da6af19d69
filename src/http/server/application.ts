import Koa, { type Context } from "koa";

type Handle = (ctx: Context) => Promise<void>;

/** The part of Koa that its types leave out: runs the middleware on a context, then answers. */
interface Handling {
  handleRequest(ctx: Context, handle: Handle): Promise<void>;
}

const koa = Koa.prototype as unknown as Handling;

/**
 * Koa that watches the connection only of the answers that it sends itself. It would attach listeners to the response and the
 * socket of every request, which takes longer than its middleware; most answers are sent in one piece before it has its turn.
 */
export class Application extends Koa implements Handling {
  readonly #observe: (ctx: Context, ms: number) => void;

  /** @param observe called when the answer to a request begins, with the time since the request */
  constructor(options: { proxy?: boolean } = {}, observe: (ctx: Context, ms: number) => void = () => undefined) {
    super(options);
    this.#observe = observe;
  }

  handleRequest(ctx: Context, handle: Handle): Promise<void> {
    const { res } = ctx;
    const startedAt = performance.now();
    res.statusCode = 404;
    return handle(ctx).then(
      () => {
        this.#observe(ctx, performance.now() - startedAt);
        if (ctx.respond === false) return;
        const { statusCode } = res;
        // It begins with a 404 as well.
        return koa.handleRequest.call(this, ctx, async () => {
          res.statusCode = statusCode;
        });
      },
      (error: unknown) => koa.handleRequest.call(this, ctx, () => Promise.reject(error)),
    );
  }
}
