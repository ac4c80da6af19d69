/** The events of a response, each with its data as JSON. */
export async function* readEvents(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (fields.has("data"))
        yield { name: fields.get("event"), id: fields.get("id"), data: JSON.parse(fields.get("data")) };
    }
  }
}
