// How a command in a network of its own finds the proxy: a small program beside it listens there and passes on to the socket.

import type { NetworkRules } from '../model/policy.ts';

/** In the private folder of the command; sealed like it. */
const FOLDER = '/run/heddle-network';
const SOCKET = `${FOLDER}/proxy.sock`;
const NODE = `${FOLDER}/node`;
const PORT = 3128;

/** Says that it listens by closing its output. Plain script without imports of ours. */
const FORWARDER = `
const net = require('node:net');
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGPIPE', 'SIGTTOU', 'SIGTTIN']) process.on(signal, () => {});
const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
  const far = net.connect({ path: '${SOCKET}', allowHalfOpen: true });
  for (const [one, other] of [[near, far], [far, near]]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroyed || other.end());
    one.pipe(other);
  }
});
server.listen(${PORT}, '127.0.0.1', () => {
  const fs = require('node:fs');
  fs.writeSync(1, 'ready');
  fs.closeSync(1);
  fs.openSync('/dev/null', 'w'); // takes the number: a connection must not have it
});
`;

/** The command begins when the way is there, and not at all when it is not. */
const SHELL =
  'node=$1 source=$2; shift 2; ' +
  'said=$(NODE_OPTIONS= "$node" -e "$source" </dev/null 2>/dev/null &); ' +
  '[ "$said" = ready ] || { echo "the way to the network could not be opened" >&2; exit 126; }; ' +
  'unset said node source; exec "$@"';

/** What is started in place of a command. */
export function withWayOut(argv: readonly [string, ...string[]]): [string, ...string[]] {
  return ['/bin/sh', '-c', SHELL, 'sh', NODE, FORWARDER, ...argv];
}

/** Files that have to be at these places: [place, where they are]. */
export const wayOutFiles = (socket: string): readonly (readonly [string, string])[] => [
  [SOCKET, socket],
  [NODE, process.execPath],
];

/** Where programs look for a proxy. What listens in the command's own network is reached without. */
export function wayOutVariables({ allow }: NetworkRules): Readonly<Record<string, string>> {
  const proxy = `http://127.0.0.1:${PORT}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  const direct = ['localhost', '127.0.0.1', '::1'].filter((host) => !allow.includes(host)).join(',');
  return {
    ...Object.fromEntries(names.map((name) => [name, proxy])),
    ...{ NO_PROXY: direct, no_proxy: direct, NODE_USE_ENV_PROXY: '1' },
  };
}
