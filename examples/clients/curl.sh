#!/bin/sh
# Submits a task, follows it and prints its result, with curl alone.
set -eu
url=${PAIHAO_URL:-http://127.0.0.1:3000}
id="curl-$(date +%s)-$$" # of our own: should the answer be lost, the same request again is the same task

# --retry sends it again, which is safe under an id.
curl -fsS --retry 5 -X PUT "$url/v1/queues/default/requests/$id" \
  -H 'Prefer: respond-async' -H 'Content-Type: application/json' -d '{"seconds":1}'
echo

# The events of the task, until the server ends the stream: a status on every change, at last `done`, with the result.
curl -fsS -N "$url/v1/requests/$id/events" -H 'Accept: text/event-stream'

# The result: 404 while there is none yet.
curl -fsS "$url/v1/requests/$id"
echo
