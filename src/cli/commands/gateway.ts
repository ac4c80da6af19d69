import { type Command, Option } from "commander";
import { DURATION_HELP, readTimeout, wholeWithin } from "../arguments.ts";
import { command } from "../command.ts";
import type { GatewayCommandOptions } from "../start/gateway.ts";

const MAX_PORT = 65_535;
const MAX_SLOTS = 1_000_000;

/** `paihao gateway`: a line in front of an HTTP API. */
export function gatewayCommand(): Command {
  return command("gateway <url>", "open a line in front of an HTTP API, with the dashboard", [
    "paihao gateway http://localhost:11434 --port 8080",
    'paihao gateway http://localhost:3001 --port 8080 --slots 2 --direct "/health"',
  ])
    .option("--port <port>", "where clients connect", wholeWithin(0, MAX_PORT), 8000)
    .option("--slots <n>", "requests that the API gets at once", wholeWithin(1, MAX_SLOTS), 1)
    .option("--direct <rule>", 'requests that do not wait, such as "GET /models*"; repeatable', addRule)
    .addOption(
      new Option(
        "--speaks <form>",
        "form of errors and of news of the place in line (default: openai for Ollama's port and a URL that ends in /v1, else none)",
      ).choices(["openai", "none"]),
    )
    .option("--key-env <name>", "variable with the key that the API wants")
    .option("--fair", "callers take turns")
    .option("--max-wait <time>", `how long a request may wait: ${DURATION_HELP}`, readTimeout)
    .option("--queue <name>", "name of the queue", "api")
    .action(async (url: string, options: GatewayCommandOptions) => {
      const { startGateway } = await import("../start/gateway.ts");
      await startGateway(url, options);
    });
}

function addRule(rule: string, before: readonly string[] = []): readonly string[] {
  return [...before, rule];
}
