"""A worker in Python: does the tasks of the queue `primes`.

PAIHAO_URL says where the server is; PAIHAO_KEY is an API key with the scope `work`, if it wants one.
"""

import os

from paihao import Worker

worker = Worker(os.environ.get("PAIHAO_URL", "http://127.0.0.1:3000"), key=os.environ.get("PAIHAO_KEY"))


@worker.handler("primes")
def primes(input, task):
    """The primes up to a number; progress and output on the way."""
    up_to, found = input["upTo"], []
    for n in range(2, up_to + 1):
        if task.canceled.is_set():
            return None
        if all(n % p for p in found):
            found.append(n)
            task.write(n)
            task.progress(100 * n / up_to)
    return found


worker.run()
