import type { LinkSigner } from "./auth/link-signer.ts";
import type { Config } from "./config/config.ts";
import type { Engine } from "./engine/engine.ts";
import type { Handler } from "./handler/define.ts";
import type { ApiExtension } from "./http/extension.ts";
import type { Logger } from "./log.ts";
import type { Role } from "./loop.ts";
import type { LibraryPart } from "./store/library/assemble.ts";
import type { Tracing } from "./trace/tracing.ts";

/** A server that starts, as an extension sees it. */
export interface StartingServer {
  readonly config: Config;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly signer: LinkSigner | undefined;
  readonly storeUrl: string;
  readonly log: Logger;
  /** To be called only once the server has started: by a handler, or in a route. */
  engine(): Engine;
}

/** What an extension adds to a server. */
export interface Hooks extends ApiExtension {
  /** A handler of the server's own: its queue exists in each partition. */
  readonly handler?: Handler;
  /** Called when the store is open, before the server takes or runs tasks. */
  opened?(engine: Engine): void;
  /**
   * Called when the store is open. What it returns runs while the server does.
   * @throws StartError if the server cannot start with what its handlers want
   */
  role?(engine: Engine): Promise<Role>;
  /** Creates the spans of requests and attempts. */
  readonly tracing?: Tracing | undefined;
}

/**
 * A part of a server that tasks can run without. Extensions are in src/extras, each whole in its folder; nothing else imports from there but
 * what puts a server together.
 */
export interface Extension {
  /** What it has in the store: verbs of its own, and what it does in those of the core. */
  readonly part?: LibraryPart;
  /** Called once for each server that has it. */
  start(server: StartingServer): Hooks;
}
