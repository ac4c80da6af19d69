/** An event of a stream (WHATWG HTML §9.2.6). */
export interface StreamEvent {
  readonly name: string;
  /** The id of this event; undefined if it has none. */
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * The lines of a body. Cancels the body when the reader stops.
 * @param onBytes called whenever something arrives
 */
export async function* linesOf(response: Response, onBytes?: () => void): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      onBytes?.();
      const lines = decoder.decode(value, { stream: true }).split("\n");
      // Not split again with every part of a long line.
      lines[0] = text + lines[0];
      // There is always one.
      text = lines.pop() as string;
      for (const line of lines) yield line.replace(/\r$/, "");
    }
    if (text !== "") yield text;
  } finally {
    // A connection that has broken cannot be canceled.
    reader.cancel().catch(() => undefined);
  }
}

/** The events of a stream. An event that breaks off is none. */
export async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<StreamEvent> {
  let name = "";
  let id: string | undefined;
  let data: string | undefined;
  for await (const line of lines) {
    if (line === "") {
      if (data !== undefined) yield { name, id, data };
      name = "";
      id = data = undefined;
      continue;
    }
    const [field, value = ""] = line.split(/: ?(.*)/s);
    if (field === "event") name = value;
    else if (field === "id") id = value;
    // The server writes it in one line.
    else if (field === "data") data = value;
  }
}
