#!/usr/bin/env bash
# Runs one turn over the socket of a running server and prints what it says: automation.sh PROMPT [accept|decline]
# The second word answers what is asked meanwhile. Needs socat and jq; HEDDLE_SOCKET names another socket.
set -euo pipefail
socket=${HEDDLE_SOCKET:-$HOME/.heddle/app-server-control/app-server-control.sock}
decision=${2:-decline}
[[ -S $socket ]] || { echo "no server listens on $socket" >&2; exit 1; }
coproc server { exec socat -t 5 - "UNIX-CONNECT:$socket"; }
from=${server[0]} to=${server[1]}
send() { jq --compact-output --null-input "$@" >&"$to"; }

send '{id: 1, method: "initialize", params: {clientInfo: {name: "automation", version: "1"}, capabilities: {
  optOutNotificationMethods: ["item/agentMessage/delta", "item/commandExecution/outputDelta"]}}}'
send --arg cwd "$PWD" '{id: 2, method: "thread/start", params: {cwd: $cwd}}'
while IFS= read -r message <&"$from"; do
  get() { jq --raw-output "$1" <<<"$message"; }
  case $(get 'if .error then "refused" elif .method then (if .id then "asked " else "" end) + .method else "answer \(.id)" end') in
    "answer 2") send --arg id "$(get .result.thread.id)" --arg text "$1" \
      '{id: 3, method: "turn/start", params: {threadId: $id, input: [{type: "text", text: $text}]}}' ;;
    "asked item/commandExecution/requestApproval" | "asked item/fileChange/requestApproval")
      echo "$decision: $(get '.params.command // "a patch"')" >&2
      send --argjson id "$(get .id)" --arg decision "$decision" '{id: $id, result: {decision: $decision}}' ;;
    asked*) send --argjson id "$(get .id)" '{id: $id, error: {code: -32601, message: "a script cannot answer this"}}' ;;
    item/completed) get '.params.item | select(.type == "agentMessage").text' ;;
    turn/completed) get '.params.turn | .error.message // .status' >&2
      [[ $(get .params.turn.status) == completed ]] && exit 0 || exit 1 ;;
    refused) get .error.message >&2; exit 1 ;;
  esac
done
echo "the server has left" >&2; exit 1
