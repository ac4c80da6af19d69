"""Submits a task, watches its place and progress, and prints its result, with Python's standard library alone."""

import json
import os
import urllib.request
import uuid

URL = os.environ.get("PAIHAO_URL", "http://127.0.0.1:3000")
KEY = os.environ.get("PAIHAO_KEY")


def request(method, path, body=None, **headers):
    """The status, headers and JSON of an answer; those of an error too, which is a problem document."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    if KEY:
        headers["Authorization"] = f"Bearer {KEY}"
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    asked = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        answer = urllib.request.urlopen(asked, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = answer.read()
        return answer.status, answer.headers, json.loads(text) if text else None


# With our own id: if the answer is lost, the repeated request is the same task.
task = f"python-{uuid.uuid4()}"
status, _, accepted = request(
    "PUT", f"/v1/queues/default/requests/{task}", {"seconds": 1}, Prefer="respond-async"
)
if status != 202:
    raise SystemExit(f"refused: {accepted['title']} {accepted.get('errors', '')}")
print("place", accepted["index"])

# Long polls: each is answered when the task has changed, or with 304 after 20 seconds.
tag = ""
while True:
    status, headers, monitor = request(
        "GET", f"/v1/requests/{task}/status", Prefer="wait=20", If_None_Match=tag
    )
    if status == 304:
        continue
    if status >= 400:
        raise SystemExit(monitor["title"])
    tag = headers["ETag"]
    progress = monitor["progress"] or {"percent": 0}
    print(monitor["state"], f"{progress['percent']:.0f} %")
    if monitor["finishedAt"]:
        break

status, _, result = request("GET", f"/v1/requests/{task}")
if monitor["state"] != "succeeded":
    raise SystemExit(f"{result['title']}: {result.get('detail', '')}")
print(json.dumps(result))
