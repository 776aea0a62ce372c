// Whether a server that was named can be used from here: it answers, takes the token, speaks our protocol, and may run turns.

import { isAppError, messageOf } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import { serverCapabilities } from '../handshake/methods.ts';
import type { Result } from '../rpc/declare.ts';
import { VERSION } from './environment.ts';
import { bad, doubtful, type Finding, good } from './finding.ts';
import { greeted } from './greeting.ts';
import { connectionTo, type ServerChoice } from './running-server.ts';

type Capability = Result<typeof serverCapabilities>['methods'][number];

/** Rejects as *invalid* for a wrong address and for a token that would be sent in clear. */
export async function remoteFindings(choice: ServerChoice): Promise<readonly Finding[]> {
  const about = `server ${choice.remote}`;
  let client: Client;
  try {
    client = await greeted(await connectionTo(choice), { name: 'heddle_doctor', experimentalApi: true });
  } catch (error) {
    if (isAppError(error, 'invalid')) throw error;
    const isDoor = isAppError(error, 'unauthenticated') || isAppError(error, 'forbidden');
    return [
      bad(about, messageOf(error), isDoor ? 'check the token' : 'check the address, and that a server runs there'),
    ];
  }
  try {
    const { server } = client.server;
    const version = server?.name === 'heddle' ? versionFinding(about, server.version) : foreign(about);
    return version.state === 'good' ? [version, ...(await permissionFindings(client))] : [version];
  } finally {
    await client.close();
  }
}

const foreign = (about: string): Finding =>
  doubtful(about, 'it answers, and is no server of heddle', 'what is ours beyond the protocol is not there');

function versionFinding(about: string, version: string): Finding {
  if (version === VERSION) return good(about, `it answers, version ${version}`);
  return doubtful(about, `it answers, version ${version}; this is ${VERSION}`, 'use the same version on both sides');
}

async function permissionFindings(client: Client): Promise<readonly Finding[]> {
  const { methods } = await client.request(serverCapabilities, {});
  const missing = [...new Set(methods.flatMap(({ permission }) => permission ?? []))];
  const said = missing.length === 0 ? 'all' : `all but ${missing.join(', ')}`;
  return [
    missing.includes('thread:write')
      ? doubtful('permissions', said, 'turns cannot be started; use a token with the scope thread:write')
      : good('permissions', said),
    turnFinding(methods),
  ];
}

/** `source` says whose word it is. */
export async function turnFindings(client: Client, source: string): Promise<readonly Finding[]> {
  const { methods } = await client.request(serverCapabilities, {});
  const finding = turnFinding(methods);
  return [{ ...finding, text: `${finding.text}, ${source}` }];
}

function turnFinding(methods: readonly Capability[]): Finding {
  const barred = ['thread/start', 'turn/start'].flatMap(
    (wanted) =>
      methods.find(({ method, status, permission }) => method === wanted && status !== 'supported' && !permission) ??
      [],
  )[0];
  if (!barred) return good('turns', 'nothing stands in their way');
  const { switch: setting, policy, reason = 'it is not supported' } = barred;
  const again = setting === 'backend' ? ', and start it anew' : '';
  return bad('turns', reason, `on that server, set ${setting ?? policy} in config.yaml${again}`);
}
