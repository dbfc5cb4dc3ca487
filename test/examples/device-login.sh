#!/usr/bin/env bash
# A device login with curl: starts a login, shows the code, polls until it is approved, and prints the access token.
set -euo pipefail
base=${SVC_BASE_URL:-http://localhost:8787}
post() { curl -sS -X POST "$base$1" -H 'Content-Type: application/json' -d "$2" -w '\n%{http_code}'; }
field() { sed -E "s/.*\"$1\":\"?([^\",}]*).*/\1/" <<<"$2"; }

login=$(post /v1/auth/device/start '{"email":"ada@example.com","deviceId":"curl-1","deviceName":"curl"}')
[ "$(tail -n1 <<<"$login")" = 202 ] || { echo "$login" >&2; exit 1; }
started=$(head -n1 <<<"$login")
echo "Open the link in your email and compare the code: $(field userCode "$started")" >&2

while true; do
  # A little longer than the interval, so that no poll is too early.
  sleep "$(field intervalSeconds "$started").2"
  answer=$(post /v1/auth/device/poll "{\"deviceCode\":\"$(field deviceCode "$started")\"}")
  case $(tail -n1 <<<"$answer") in
    200) field accessToken "$(head -n1 <<<"$answer")"; exit 0 ;;
    428 | 429) ;;
    *) echo "$answer" >&2; exit 1 ;;
  esac
done
