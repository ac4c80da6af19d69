import { setTimeout as sleep } from "node:timers/promises";
import { defineHandler, giveUp } from "paihao";

const COMFYUI = process.env.COMFYUI_URL ?? "http://127.0.0.1:8188";
const POLL_MS = 500;

/** A file that ComfyUI has written, as `/view` wants it named. */
interface Picture {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

/** What `/history/{id}` answers: nothing of a prompt that has not ended. */
type History = Record<
  string,
  { status: { status_str: string }; outputs: Record<string, { images?: readonly Picture[] }> }
>;

/** Runs a workflow, as "Export (API)" saves it, and returns its first picture. ComfyUI gets one at a time, from all processes together. */
export const pictures = defineHandler({
  queue: "pictures",
  concurrency: { total: 1 },
  timeout: "30m",
  async run(workflow: Record<string, unknown>, task) {
    // Stored: an attempt after a lost worker waits for the same prompt.
    const { prompt_id: id } = await task.step("submit", () =>
      ask<{ prompt_id: string }>("/prompt", { prompt: workflow }),
    );
    try {
      for (;;) {
        const { [id]: done } = await ask<History>(`/history/${id}`);
        const [picture] = Object.values(done?.outputs ?? {}).flatMap(({ images = [] }) => images);
        if (picture) return await fetch(`${COMFYUI}/view?${new URLSearchParams({ ...picture })}`);
        if (done) throw giveUp({ status: 422, title: `The workflow made no picture: ${done.status.status_str}` });
        await sleep(POLL_MS, undefined, { signal: task.signal });
      }
    } catch (error) {
      if (task.signal.aborted) await stop(id);
      throw error;
    }
  },
});

/** Takes a prompt out of ComfyUI's own line, or ends it if it runs. */
async function stop(id: string): Promise<void> {
  await ask("/queue", { delete: [id] });
  await ask("/interrupt", { prompt_id: id });
}

async function ask<Answer>(path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(COMFYUI + path, body === undefined ? {} : { method: "POST", body: JSON.stringify(body) });
  const text = await answer.text();
  if (answer.status === 400) throw giveUp({ status: 422, title: "ComfyUI refuses this workflow", detail: text });
  if (!answer.ok) throw new Error(`ComfyUI answered ${answer.status} to ${path}`);
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}
