/** An event of a stream (WHATWG HTML §9.2.6). */
export interface StreamEvent {
  /** Its name. */
  readonly event?: string;
  readonly id?: string;
  /** The server writes it in one line. */
  readonly data?: string;
}

/**
 * The lines of a body. Cancels the body when the reader stops.
 * @param onBytes called whenever something arrives
 */
export async function* linesOf(response: Response, onBytes?: () => void): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      onBytes?.();
      const lines = value.split("\n");
      // Kept as parts, so that a long line is not split again with every chunk.
      lines[0] = text + lines[0];
      // There is always at least one.
      text = lines.pop() as string;
      for (const line of lines) yield line.replace(/\r$/, "");
    }
    if (text) yield text;
  } finally {
    // A connection that has broken cannot be canceled.
    reader.cancel().catch(() => undefined);
  }
}

/** The events of a stream. An incomplete event is dropped. */
export async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<StreamEvent> {
  let event: StreamEvent = {};
  for await (const line of lines) {
    if (line) {
      const [field, value = ""] = line.split(/: ?(.*)/s) as [string, string?];
      event = { ...event, [field]: value };
    } else {
      if (event.data !== undefined) yield event;
      event = {};
    }
  }
}
