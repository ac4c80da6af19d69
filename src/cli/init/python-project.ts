import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

/** The Python package, which a project keeps beside its worker, so that nothing has to be installed; by paths in the project. */
export async function pythonPackage(folder: string): Promise<Readonly<Record<string, string>>> {
  const source = path.join(folder, "clients/python/src/paihao");
  const names = (await readdir(source)).filter((name) => /\.(?:py|typed)$/.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(path.join(source, name), "utf8")));
  return Object.fromEntries(names.map((name, i) => [`paihao/${name}`, texts[i] ?? ""]));
}

export const QUEUES = `{
  "greet": {
    "attempts": 3,
    "lease": "15s",
    "input": {
      "type": "object",
      "properties": { "name": { "type": "string", "minLength": 1, "maxLength": 80, "examples": ["Ada"] } },
      "required": ["name"],
      "additionalProperties": false
    }
  }
}
`;

export const WORKER = `"""The worker: does the tasks of the queues that handlers/queues.json declares."""

import logging
import os

from paihao import Worker

worker = Worker(os.environ.get("PAIHAO_URL", "http://127.0.0.1:3000"), key=os.environ.get("PAIHAO_KEY"))


@worker.handler("greet", slots=4)
def greet(input, task):
    """Greets, and takes a second for it."""
    for percent in (0, 25, 50, 75):
        task.progress(percent, "thinking of words")
        if task.canceled.wait(0.25):
            return None
    return {"text": f"Hello, {input['name']}!"}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    worker.run()
`;

export const PYTHON_TEST = `import contextlib
import os
import re
import subprocess
import threading
import unittest
from unittest.mock import Mock

from paihao import Client, PaihaoError, Worker
from worker import greet


@contextlib.contextmanager
def served():
    """The address of a server with the queues of this project, on a store in memory."""
    env = {**os.environ, "HANDLERS": "handlers", "PORT": "0", "STORE": "embedded", "LOG_LEVEL": "warn"}
    command = ["node_modules/.bin/paihao", "start"]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as server:
        try:
            lines = (re.search(r"is ready on (http\\S+)", line) for line in server.stderr)
            yield next(found[1] for found in lines if found)
        finally:
            server.terminate()


class Greeting(unittest.TestCase):
    def test_greets_by_name(self):
        task = Mock()
        task.canceled.wait.return_value = False
        self.assertEqual(greet({"name": "Ada"}, task), {"text": "Hello, Ada!"})
        self.assertEqual(task.progress.call_count, 4)

    def test_is_served_over_http(self):
        with served() as url:
            worker = Worker(url)
            worker.handler("greet")(greet)
            working = threading.Thread(target=worker.run)
            working.start()
            try:
                client = Client(url)
                self.assertEqual(client.run("greet", {"name": "Grace"}), {"text": "Hello, Grace!"})
                with self.assertRaises(PaihaoError) as refused:
                    client.run("greet", {"name": ""})
                self.assertEqual(refused.exception.code, "invalid-input")
            finally:
                worker.stop()
                working.join()


if __name__ == "__main__":
    unittest.main()
`;

/** The stage of the worker in the Dockerfile. */
export const WORKER_STAGE = `
FROM python:3.13-slim-bookworm AS worker
# What the worker imports beside the standard library:
# RUN pip install --no-cache-dir torch
WORKDIR /app
COPY worker.py ./
COPY paihao ./paihao
USER nobody
CMD ["python3", "worker.py"]
`;

/** The services of compose.yaml that differ from those of other projects. */
export const PYTHON_SERVICES = `  api:
    <<: *tasks
    build: { context: ., target: server }
    environment:
      <<: *environment
      # The names that callers use, besides 127.0.0.1: others are refused, so that no web page gets in under its own (DNS rebinding).
      # Add the name of a proxy in front.
      ALLOWED_HOSTS: localhost,api
    ports:
      - "127.0.0.1:\${PORT:-3000}:3000"

  worker:
    build: { context: ., target: worker }
    init: true
    restart: unless-stopped
    <<: [*hardened, *logged]
    # Longer than the worker takes to finish what it has (30 s), so that running tasks can end.
    stop_grace_period: 35s
    environment:
      PAIHAO_URL: http://api:3000
    depends_on:
      - api
`;

export function pythonReadme(name: string, vendored: string): string {
  return `# ${name}

Tasks behind HTTP, with a place in line for everyone who waits, by [paihao](node_modules/paihao/README.md); the work is done in Python.

\`\`\`sh
npm start            # the server on http://127.0.0.1:3000; the dashboard is at /dashboard
npm run worker       # in another terminal: the worker
npm test             # the worker, without and with a server
docker compose up --build
\`\`\`

In another terminal:

\`\`\`sh
npx paihao submit greet '{"name":"Ada"}' --watch
curl -X POST localhost:3000/v1/queues/greet/requests -H 'Content-Type: application/json' -d '{"name":"Ada"}'
npx paihao doctor    # checks Node, queues, store and port, and says what to do
\`\`\`

| file | what it is |
|---|---|
| handlers/queues.json | the queues: their options, and their inputs as JSON Schema |
| worker.py | the work |
| test_worker.py | its test |
| paihao/ | the Python package, which needs only the standard library: commit it |
| .env | settings of the server |
| Dockerfile | the images of server and worker, with a line for what the worker imports |
| compose.yaml | Redis, the API and workers |${vendored}
`;
}
