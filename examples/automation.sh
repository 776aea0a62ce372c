#!/usr/bin/env bash
# Runs one turn over the socket of a running server and prints what it says: automation.sh PROMPT [accept|decline]
# The second word answers what is asked meanwhile. Needs socat and jq; HEDDLE_SOCKET names another socket.
set -euo pipefail
socket=${HEDDLE_SOCKET:-$HOME/.heddle/app-server-control/app-server-control.sock} decision=${2:-decline}
[[ $# -ge 1 ]] || { echo "usage: automation.sh PROMPT [accept|decline]" >&2; exit 2; }
[[ -S $socket ]] || { echo "no server listens on $socket" >&2; exit 1; }
# Each message of the server as a row: its id, what it is, and the one text in it that is of interest here.
rows='[(.id | tojson), if .error then "refused" else .method // "answer" end, (.error.message // .result.thread.id // .params.command
  // (.params.item | select(.type == "agentMessage").text) // .params.turn.error.message // .params.turn.status // "")] | @tsv'
# What is sent after the server has left goes nowhere, and then there is nothing more to read.
coproc server { socat -t 5 - "UNIX-CONNECT:$socket" | jq --unbuffered --raw-output "$rows" || :; exec >&-; cat >/dev/null; }
from=${server[0]} to=${server[1]}
send() { jq --compact-output --null-input "$@" >&"$to"; }
send '{id: 1, method: "initialize", params: {clientInfo: {name: "automation", version: "1"}}}'
send --arg cwd "$PWD" '{id: 2, method: "thread/start", params: {cwd: $cwd}}'
while IFS=$'\t' read -r id what text <&"$from"; do
  case "$id $what" in
    "2 answer") send --arg id "$text" --arg text "$1" '{id: 3, method: "turn/start", params: {threadId: $id, input: [{$text, type: "text"}]}}' ;;
    "null item/completed") [[ -z $text ]] || printf '%b\n' "$text" ;;
    "null turn/completed" | *" refused") printf '%b\n' "$text" >&2; [[ $text == completed ]] && exit 0 || exit 1 ;;
    "null "* | *" answer") ;; # not of interest
    *) send --argjson id "$id" --arg decision "$decision" '{$id, result: {$decision}}' # where this does not fit it is a refusal
      printf '%s: %b\n' "$decision" "${text:-$what}" >&2 ;;
  esac
done
echo "the server has left" >&2; exit 1
