import Koa, { type Context } from "koa";

type Handle = (ctx: Context) => Promise<void>;

/** The part of Koa that its types leave out: runs the middleware on a context, then answers. */
interface Handling {
  handleRequest(ctx: Context, handle: Handle): Promise<void>;
}

const koa = Koa.prototype as unknown as Handling;

/**
 * Koa, but with listeners on the connection only for responses that Koa sends itself. Its listeners on every response and
 * socket would be 15 % of an accept, and no option turns them off.
 */
export class Application extends Koa implements Handling {
  handleRequest(ctx: Context, handle: Handle): Promise<void> {
    const { res } = ctx;
    res.statusCode = 404;
    return handle(ctx).then(
      () => {
        if (ctx.respond === false) return;
        const { statusCode } = res;
        // Koa also begins with a 404.
        return koa.handleRequest.call(this, ctx, async () => {
          res.statusCode = statusCode;
        });
      },
      (error: unknown) => koa.handleRequest.call(this, ctx, () => Promise.reject(error)),
    );
  }
}
