import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventually } from "../shared/eventually.ts";
import { reservePort } from "../shared/ports.ts";
import { programOnPath } from "../shared/programs.ts";

/** Debian installs it where only root looks. */
const PROGRAM = programOnPath("nginx") ?? "/usr/sbin/nginx";

export const hasNginx = existsSync(PROGRAM);

/** An nginx of its own. */
export interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts nginx with a server on a free port. @param locations what is in its `server` block */
export async function startNginx(locations: string): Promise<Nginx> {
  const folder = await mkdtemp(path.join(tmpdir(), "paihao-nginx-"));
  const port = await reservePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  const config = `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/errors;
    events {}
    http { access_log off; client_max_body_size 0; ${temporary.join(" ")}
      server { listen 127.0.0.1:${port}; ${locations} } }`;
  await writeFile(path.join(folder, "nginx.conf"), config);
  const child = spawn(PROGRAM, ["-p", folder, "-c", "nginx.conf", "-e", `${folder}/errors`], {
    stdio: "inherit",
  });
  const ended = once(child, "exit");
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
    const socket = net.connect(port, "127.0.0.1");
    return await once(socket, "connect")
      .then(
        () => true,
        () => false,
      )
      .finally(() => socket.destroy());
  });
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
