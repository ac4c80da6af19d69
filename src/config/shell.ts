/** What the commands read from the environment: unlike settings, it is not checked, and never stops a command. */

const DEFAULT = { host: "127.0.0.1", port: "3000" } as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** The URL of the server that `paihao start` starts in this environment. */
export function localUrl({ HOST = "", PORT = "" }: Environment = process.env): string {
  // Port 0 means any free port, which commands cannot know.
  return ownUrl(HOST.trim() || DEFAULT.host, /^[1-9]\d{0,4}$/.test(PORT.trim()) ? PORT.trim() : DEFAULT.port);
}

/** Where a server with this HOST and PORT is reached from its own machine. */
export function ownUrl(host: string, port: number | string): string {
  // A wildcard is not an address to connect to.
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** Whether the terminal does not understand escape sequences. */
export function isDumb({ TERM }: Environment = process.env): boolean {
  return TERM === "dumb";
}
