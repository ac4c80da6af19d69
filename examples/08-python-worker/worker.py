"""A worker in Python, with nothing but its standard library: takes tasks of the queue `primes` by leases over HTTP.

PAIHAO_URL says where the server is; PAIHAO_KEY is an API key with the scope `work`, if it wants one.
"""

import json
import os
import threading
import urllib.error
import urllib.request

URL = os.environ.get("PAIHAO_URL", "http://127.0.0.1:3000")
KEY = os.environ.get("PAIHAO_KEY")
WORKER = f"python-{os.getpid()}"


def post(path, body, **headers):
    """Sends JSON; returns the status and the JSON of the answer."""
    headers["Content-Type"] = "application/json"
    if KEY:
        headers["Authorization"] = f"Bearer {KEY}"
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = answer.read()
        return answer.status, json.loads(text) if text else None


def renew(task, stop, canceled):
    """Keeps the lease while the work goes on, and hears of a cancel."""
    while not stop.wait(task["leaseSeconds"] / 3):
        status, answer = post(f"/v1/leases/{task['id']}/renew", {"fence": task["fence"]})
        if status == 410 or (status == 200 and answer["cancelRequested"]):
            return canceled.set()


def primes(task, canceled):
    """The primes up to a number; progress and output on the way."""
    lease, fence = f"/v1/leases/{task['id']}", task["fence"]
    up_to, found = task["input"]["upTo"], []
    for n in range(2, up_to + 1):
        if canceled.is_set():
            return None
        if all(n % p for p in found):
            found.append(n)
            post(f"{lease}/output", {"fence": fence, "data": [n]})
            post(f"{lease}/progress", {"fence": fence, "percent": 100 * n / up_to})
    return found


def work(task):
    """Does one task, and says how it ended."""
    lease, fence = f"/v1/leases/{task['id']}", task["fence"]
    stop, canceled = threading.Event(), threading.Event()
    renewing = threading.Thread(target=renew, args=(task, stop, canceled), daemon=True)
    renewing.start()
    try:
        result = primes(task, canceled)
        status, answer = post(f"{lease}/complete", {"fence": fence, "result": result})
    except Exception as error:
        status, answer = post(f"{lease}/fail", {"fence": fence, "error": str(error)})
    finally:
        stop.set()
    print(task["id"], answer["verdict"] if status == 200 else status, flush=True)


while True:
    # Waits until there is work, at most 20 seconds.
    status, answer = post("/v1/queues/primes/leases", {"worker": WORKER}, Prefer="wait=20")
    if status >= 400:
        raise SystemExit(f"{answer['title']}: {answer.get('detail', '')}")
    for task in answer["items"] if status == 200 else []:
        work(task)
