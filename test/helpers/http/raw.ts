import net from "node:net";
import { ruleViolations } from "./rules.ts";

/** Sends bytes as they are over a connection of their own, and returns all that comes until the server ends it. */
export async function raw(url: string, bytes: string | Buffer): Promise<string> {
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  // A server that closes while the client is still sending may reset the connection.
  socket.on("error", () => undefined);
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // Not `once`, which would reject of that error.
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return Buffer.concat(chunks).toString("latin1");
}

/** A response as it was written. */
export interface RawAnswer {
  readonly status: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Takes the first answer of several apart; `contract` is false where what follows it would be taken for its body.
 * @throws Error when it breaks a rule of every answer
 */
export function rawAnswer(text: string, { contract = true }: { contract?: boolean } = {}): RawAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [line = "", ...fields] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    fields.map((field) => [
      field.slice(0, field.indexOf(":")).toLowerCase(),
      field.slice(field.indexOf(":") + 1).trim(),
    ]),
  );
  const [status, body] = [Number(line.split(" ")[1]), Buffer.from(text.slice(end + 4), "latin1")];
  const broken = contract ? ruleViolations("", "", { status, headers, body, text: body.toString(), json: null }) : [];
  if (broken.length > 0) throw new Error(`${line} breaks the contract: ${broken.join("; ")}`);
  return { status, headers, body: text.slice(end + 4) };
}
