// What a server says on standard error about how to reach it and what to choose.

import type { App } from '../app.ts';
import type { Listener } from '../transports/connection.ts';
import { VERSION } from './environment.ts';

/** Nothing for standard streams, where only the client that started us is listening. Never a token. */
export function listeningLines(listeners: readonly Listener[]): readonly string[] {
  const shown = listeners.filter(({ address }) => address !== 'stdio://');
  if (shown.length === 0) return [];
  const title = `heddle app-server ${VERSION}`;
  return [title, ...shown.flatMap(linesOf)];
}

function linesOf({ address, tokenFile }: Listener): readonly string[] {
  if (address === 'off') return ['  not listening (off); ends on SIGTERM'];
  const lines = [`  listening on: ${address}`];
  if (address.startsWith('ws://')) {
    const origin = address.replace('ws://', 'http://');
    lines.push(`  readyz: ${origin}/readyz`, `  healthz: ${origin}/healthz`);
  }
  if (tokenFile !== undefined) lines.push(`  token file: ${tokenFile}`);
  return lines;
}

/** What to do when the configuration cannot be used, or nobody has chosen who runs the turns. */
export function backendLines({ isBackendUnchosen, configProblem, config }: App): readonly string[] {
  if (configProblem !== undefined)
    return [
      `the configuration cannot be used, so turns will fail: ${configProblem}`,
      ...(isBackendUnchosen ? ['mend it, then start again: who runs the turns is chosen at the start'] : []),
    ];
  if (!isBackendUnchosen) return [];
  return [
    'no backend is chosen, so every turn will fail: start with `--backend runtime` (a model provider) or `--backend mock`',
    `(no model needed), or write \`backend: runtime\` into ${config.file}`,
  ];
}
