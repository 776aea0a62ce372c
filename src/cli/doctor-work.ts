// Looks at everything that turns need, one thing after the other, and changes nothing.

import { type Stats, statSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { faultText, readRulesFile } from '../approvals/rules-file.ts';
import { codeOf, messageOf } from '../base/errors.ts';
import { problemText } from '../config/faults.ts';
import { type ConfigState, createConfigSource } from '../config/load.ts';
import { mcpServersOf } from '../config/mcp-servers.ts';
import { type Requirements, readRequirements, requirementsFile } from '../config/requirements.ts';
import type { Config } from '../config/schema.ts';
import { isOwned, readOwner } from '../history/owner.ts';
import { createSandboxProbe } from '../sandbox/probe.ts';
import { unknownSettings } from './config-schema.ts';
import { historyFindings } from './doctor-history.ts';
import { providerFindings } from './doctor-provider.ts';
import { remoteFindings } from './doctor-remote.ts';
import { verdictOn } from './doctor-running.ts';
import { checkDoor } from './exec-door.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { bad, doubtful, type Finding, good, linesOf } from './finding.ts';
import type { ServerChoice } from './running-server.ts';
import { probe } from './status.ts';
import { paintFor, roomOf } from './terminal.ts';

/** Of settings that nothing reads, in a finding. */
const MOST_NAMES = 10;
const NAMES_OF_SETTINGS = 'correct the name; `heddle schema --config` has those of all settings';

const OLDEST_NODE = [20, 19] as const;

/** Prints to standard output as it finds; the code is 0 when nothing is wrong, 1 otherwise. */
export async function doctor(options: {
  readonly dataDirectory: string;
  readonly choice: ServerChoice;
  readonly flags: readonly string[];
  readonly provider: string | undefined;
  readonly json: boolean;
}): Promise<ExitCode> {
  const { choice, json } = options;
  checkDoor({ ...choice, backend: undefined, config: options.flags });
  const paint = paintFor(process.stdout, process.env);
  const findings: Finding[] = [];
  const checks = choice.remote === undefined ? await localChecks(options) : [() => remoteFindings(choice), nodeCheck];
  for (const check of checks) {
    const found = await check();
    findings.push(...found);
    const lines = found.flatMap((each) => linesOf(each, paint, roomOf(process.stdout)));
    if (!json) for (const line of lines) process.stdout.write(`${line}\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify(findings)}\n`);
  return findings.some((each) => each.state === 'bad') ? EXIT.failed : EXIT.done;
}

type Check = () => readonly Finding[] | Promise<readonly Finding[]>;

const nodeCheck: Check = () => [nodeFinding(process.versions.node)];

async function localChecks({
  dataDirectory,
  flags,
  provider,
}: {
  readonly dataDirectory: string;
  readonly flags: readonly string[];
  readonly provider: string | undefined;
}): Promise<readonly Check[]> {
  const required = await requirementsOf(requirementsFile(process.platform));
  const { requirements } = required;
  const state = await createConfigSource({ dataDirectory, flags, requirements }).state();
  return [
    nodeCheck,
    () => directoryFindings(dataDirectory),
    () => serverFindings(dataDirectory),
    () => historyFindings(dataDirectory),
    () => required.findings,
    () => [configFinding(state, join(dataDirectory, 'config.yaml'))],
    sandboxFindings,
    () => rulesFindings(join(dataDirectory, 'rules', 'default.rules')),
    () => {
      if (state.problem) return [doubtful('provider', 'not tried', 'correct the configuration first')];
      return turnFindings(dataDirectory, state.config, provider);
    },
    () => (state.problem ? [] : mcpFindings(state.config)),
  ];
}

async function turnFindings(dataDirectory: string, config: Config, provider: string | undefined) {
  const verdict = await verdictOn(dataDirectory, config, join(dataDirectory, 'config.yaml'));
  // The server has said what is wrong.
  if (provider === undefined && verdict.findings.some(({ state }) => state === 'bad')) return verdict.findings;
  const tried = await providerFindings({ dataDirectory, verdict, provider, environment: process.env });
  return [...verdict.findings, ...tried];
}

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNew = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  if (isNew) return good('Node.js', version);
  return bad('Node.js', `${version} is too old`, `install version ${OLDEST_NODE.join('.')} or newer`);
}

async function directoryFindings(directory: string): Promise<readonly Finding[]> {
  const about = 'data directory';
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (!stats) {
    const parent = nearestFolder(directory);
    const mayMake = await mayWrite(parent);
    if (mayMake) return [good(about, `${directory} will be made by the first server`)];
    return [bad(about, `${directory} cannot be made: ${parent} may not be written`, 'name another with --data-dir')];
  }
  if (!stats.isDirectory()) return [bad(about, `${directory} is no folder`, 'name another with --data-dir')];
  if (!(await mayWrite(directory)))
    return [bad(about, `${directory} may not be written`, 'correct its permissions, or name another with --data-dir')];
  const faults = [...privacyOf(directory, stats), ...keyFileFindings(directory)];
  return faults.length > 0 ? faults : [good(about, directory)];
}

function privacyOf(directory: string, stats: Stats): readonly Finding[] {
  const own = process.getuid?.();
  if (own !== undefined && stats.uid !== own)
    return [doubtful('data directory', `${directory} belongs to somebody else`, `chown it to the user of the server`)];
  if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0)
    return [doubtful('data directory', `others may look into ${directory}`, `chmod 700 ${directory}`)];
  return [];
}

function keyFileFindings(directory: string): readonly Finding[] {
  const file = join(directory, 'auth.json');
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats || process.platform === 'win32' || (stats.mode & 0o077) === 0) return [];
  return [bad('data directory', `others may read the keys in ${file}`, `chmod 600 ${file}`)];
}

function nearestFolder(path: string): string {
  const parent = dirname(path);
  if (parent === path || statSync(parent, { throwIfNoEntry: false })) return parent;
  return nearestFolder(parent);
}

const mayWrite = (path: string): Promise<boolean> =>
  access(path, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );

async function serverFindings(directory: string): Promise<readonly Finding[]> {
  const about = 'server';
  try {
    if (!(await isOwned(directory))) return [good(about, 'none runs on the data directory')];
    const owner = await readOwner(directory);
    const who = owner ? `pid ${owner.pid}, version ${owner.version}, since ${owner.startedAt}` : 'it has not said who';
    const endpoints = await Promise.all((owner?.endpoints ?? []).map(probe));
    const silent = endpoints.filter(({ answers }) => answers === false);
    return [
      good(about, `one runs on the data directory (${who})`),
      ...silent.map(({ address, problem }) =>
        bad(about, `${address} does not answer: ${problem}`, 'see the log of the server, or start it anew'),
      ),
    ];
  } catch (error) {
    return [bad(about, messageOf(error), 'correct the permissions of the data directory')];
  }
}

/** What the administrator requires, if it can be kept: no server starts otherwise. */
export async function requirementsOf(
  file: string,
  owner?: number,
): Promise<{ readonly requirements?: Requirements | undefined; readonly findings: readonly Finding[] }> {
  const about = 'requirements';
  try {
    const requirements = await readRequirements(file, owner);
    return { requirements, findings: requirements ? [good(about, file)] : [] };
  } catch (error) {
    return { findings: [bad(about, messageOf(error), 'no server starts before the administrator has corrected it')] };
  }
}

export function configFinding({ problem, notes, layers }: ConfigState, file: string): Finding {
  const about = 'configuration';
  if (problem) return bad(about, problemText(problem), 'correct the file; until then no work begins with it');
  try {
    const unread = layers.flatMap(({ settings }) => unknownSettings(settings));
    if (unread.length > 0)
      return doubtful(about, `nothing reads ${unread.slice(0, MOST_NAMES).join(', ')}`, NAMES_OF_SETTINGS);
    statSync(file);
    if (notes.length > 0) return doubtful(about, notes.join('; '), `correct ${file}`);
    return good(about, file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return good(about, `there is no ${file}; defaults hold`);
    return bad(about, messageOf(error), 'correct its permissions');
  }
}

/** Servers whose entry cannot be used; none is started for it. */
function mcpFindings(config: Config): readonly Finding[] {
  return mcpServersOf(config).flatMap(({ name, isEnabled, endpoint }) =>
    isEnabled && endpoint.kind === 'unusable'
      ? [bad(`MCP server ${name}`, endpoint.problem, `correct mcp_servers.${name} in config.yaml`)]
      : [],
  );
}

async function rulesFindings(path: string): Promise<readonly Finding[]> {
  const { file, rules, faults } = await readRulesFile(path);
  const advice = 'correct it; until then no rule allows anything, and most commands are asked about or refused';
  if (faults.length > 0) return faults.map((fault) => bad('rules', faultText(file, fault), advice));
  return rules.length > 0 ? [good('rules', `${rules.length} in ${file}`)] : [];
}

async function sandboxFindings(): Promise<readonly Finding[]> {
  const [{ createChildren }, { runsToEnd }] = await Promise.all([
    import('../children/spawn.ts'),
    import('../process/to-end.ts'),
  ]);
  const children = createChildren();
  const state = await createSandboxProbe(runsToEnd(children))().finally(() => children.close());
  if (state.isAvailable) return [good('sandbox', `${state.tool.path} holds: forbidden writes were denied`)];
  return [bad('sandbox', state.reason, state.advice)];
}
