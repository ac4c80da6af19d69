import Koa, { type Context } from "koa";

type Handle = (ctx: Context) => Promise<void>;

/** The part of Koa that its types leave out: runs the middleware on a context, then answers. */
interface Handling {
  handleRequest(ctx: Context, handle: Handle): Promise<void>;
}

const koa = Koa.prototype as unknown as Handling;

/**
 * Koa that watches the connection only of the answers that it sends itself. It would attach listeners to the response and the socket
 * of every request: 15 % of an accept (`npm run bench -- anatomy`), and no option of Koa's leaves them out.
 */
export class Application extends Koa implements Handling {
  handleRequest(ctx: Context, handle: Handle): Promise<void> {
    const { res } = ctx;
    res.statusCode = 404;
    return handle(ctx).then(
      () => {
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
