// What the server that runs on the data directory says of its turns: its flags count there, and no file tells of them.

import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../base/errors.ts';
import { masked } from '../config/masking.ts';
import { configRead } from '../config/methods.ts';
import type { Config } from '../config/schema.ts';
import { isTable } from '../config/tables.ts';
import { isOwned, readOwner } from '../history/owner.ts';
import { turnFindings } from './doctor-remote.ts';
import { reachOwner } from './exec-door.ts';
import { doubtful, type Finding } from './finding.ts';
import { greeted } from './greeting.ts';

/** What turns run on, and who says so. */
export interface Verdict {
  readonly findings: readonly Finding[];
  /** Null: nobody chose one. */
  readonly backend: string | null;
  /** For people, behind what is said of the backend. */
  readonly source: string;
  readonly config: Config;
  /** The server has an entry of this provider that is not the one here. */
  readonly isOtherProvider: (id: string) => boolean;
}

/** `config`: as files and flags here have it; it alone counts where no server runs. */
export async function verdictOn(directory: string, config: Config, file: string): Promise<Verdict> {
  const here: Verdict = {
    ...{ findings: [], backend: config.backend, config, isOtherProvider: () => false },
    source: `by ${file} and the flags of this command`,
  };
  const owner = (await isOwned(directory)) ? await readOwner(directory) : undefined;
  if (owner === undefined) return here;
  const backend = owner.backend ?? config.backend;
  const running = { ...here, backend: backend === 'unavailable' ? null : backend, source: 'by the running server' };
  try {
    const connection = await reachOwner(owner);
    if (connection === undefined)
      return { ...running, findings: [unasked('it has no address that other programs can use')] };
    const client = await greeted(connection, { name: 'heddle_doctor', experimentalApi: true });
    try {
      const findings = await turnFindings(client, 'says the running server');
      const { config: its } = await client.request(configRead, {});
      return { ...running, findings, ...settingsOf(its, config) };
    } finally {
      await client.close();
    }
  } catch (error) {
    return { ...running, findings: [unasked(messageOf(error))] };
  }
}

const unasked = (why: string): Finding =>
  doubtful('turns', `the running server could not be asked: ${why}`, 'what follows is from its files and from here');

/** What is secret in entries of providers is not told, so they are tried as they are here, where they are the same. */
function settingsOf(
  its: { readonly model: string | null; readonly model_provider: string | null; readonly model_providers?: unknown },
  here: Config,
): Pick<Verdict, 'config' | 'isOtherProvider'> {
  const { model, model_provider, model_providers } = its;
  const [shown, own] = [isTable(model_providers) ? model_providers : {}, masked({ ...here.model_providers })];
  return {
    config: { ...here, model, model_provider },
    isOtherProvider: (id) => !isDeepStrictEqual(shown[id], JSON.parse(JSON.stringify(own))[id]),
  };
}
