// What a client asks for when it starts a program or writes to it: checked, and completed with what holds here.

import { isAbsolute, resolve } from 'node:path';
import type { z } from 'zod';
import type { Principal } from '../auth/principal.ts';
import { AppError } from '../base/errors.ts';
import { childEnvironment } from '../children/environment.ts';
import { checkStartSize } from '../children/start-size.ts';
import type { TerminalSize } from '../children/terminal.ts';
import type { IsBelow } from '../config/ceiling.ts';
import type { ConfigSource } from '../config/load.ts';
import { profileOf } from '../config/profiles.ts';
import { checkRequiredRoots, checkRequiredSandbox } from '../config/required.ts';
import { configuredPolicy } from '../config/thread-defaults.ts';
import type { HeldPolicy } from '../model/policy.ts';
import type { Session } from '../rpc/session.ts';
import { confinementOf } from './confinement.ts';
import type { ProcessSpec } from './live-process.ts';
import type { commandExec, processSpawn } from './methods.ts';
import { OUTPUT_CAP } from './output.ts';

export interface PlaceParts {
  readonly config: ConfigSource;
  /** What relative folders are relative to. */
  readonly cwd: string;
  /** What programs get of our environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What no sandboxed command may see. */
  readonly hidden: readonly string[];
  readonly isBelow: IsBelow;
}

type ExecParams = z.output<ReturnType<(typeof commandExec)['params']>>;
type SpawnParams = z.output<ReturnType<(typeof processSpawn)['params']>>;
type ProgramParams = Omit<Pick<SpawnParams, keyof ExecParams & keyof SpawnParams>, 'cwd'>;

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_SIZE: TerminalSize = { rows: 24, cols: 80 };

/** Throws as *invalid* what can be told from the params alone. */
export function checkExec(params: ExecParams): void {
  checkProgram(params, 'command/exec');
  if (params.sandboxPolicy && params.permissionProfile)
    throw invalid('`permissionProfile` cannot be combined with `sandboxPolicy`');
  const needsId = params.tty || params.streamStdin || params.streamStdoutStderr;
  if (needsId && !params.processId) throw invalid('command/exec tty or streaming requires a client-supplied processId');
  if (isGiven(params.timeoutMs) && params.disableTimeout)
    throw invalid('command/exec cannot set both timeoutMs and disableTimeout');
  if (isGiven(params.outputBytesCap) && params.disableOutputCap)
    throw invalid('command/exec cannot set both outputBytesCap and disableOutputCap');
}

/** Throws as *invalid* what can be told from the params alone. */
export function checkSpawn(params: SpawnParams): void {
  checkProgram(params, 'process/spawn');
  if (params.processHandle === '') throw invalid('processHandle must not be empty');
  if (!isAbsolute(params.cwd)) throw invalid('Invalid request: cwd: an absolute path is needed');
}

/** Rejects as *forbidden* a folder beyond those of remote clients, and as *invalid* a profile that does not exist. */
export async function specOfExec(
  params: ExecParams,
  { id, principal, client }: Pick<Session, 'id' | 'principal' | 'client'>,
  parts: PlaceParts,
): Promise<ProcessSpec> {
  const cwd = resolve(client.cwd ?? parts.cwd, params.cwd ?? '.');
  await checkFolderOf(principal, cwd, parts);
  const cap = params.disableOutputCap ? Number.POSITIVE_INFINITY : (params.outputBytesCap ?? OUTPUT_CAP);
  const timeoutMs = params.disableTimeout ? undefined : (params.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const own = { ...parts, config: parts.config.viewOf(client.settings) };
  return { ...specOf(params, cwd, await policyOf(params, cwd, own), parts, `client ${id}`), cap, timeoutMs };
}

/** Rejects as *forbidden* a folder beyond those of remote clients. Such a program runs outside the sandbox. */
export async function specOfSpawn(params: SpawnParams, principal: Principal, parts: PlaceParts): Promise<ProcessSpec> {
  await checkFolderOf(principal, params.cwd, parts);
  const { outputBytesCap, timeoutMs } = params;
  const cap = outputBytesCap === null ? Number.POSITIVE_INFINITY : (outputBytesCap ?? OUTPUT_CAP);
  const limit = timeoutMs === null ? undefined : (timeoutMs ?? DEFAULT_TIMEOUT_MS);
  return { ...specOf(params, params.cwd, { type: 'dangerFullAccess' }, parts, 'programs'), cap, timeoutMs: limit };
}

/** A size that a terminal can have; throws as *invalid*. */
export function checkSize(size: TerminalSize, called: string): TerminalSize {
  if (size.rows > 0 && size.cols > 0) return size;
  throw invalid(`${called} size rows and cols must be greater than 0`);
}

/** The bytes to write, if any; throws as *invalid* when there is nothing to do, or the text is not base64. */
export function inputOf(
  { deltaBase64, closeStdin }: { readonly deltaBase64?: string | null | undefined; readonly closeStdin: boolean },
  method: string,
): Buffer | undefined {
  if (deltaBase64 === undefined || deltaBase64 === null) {
    if (closeStdin) return undefined;
    throw invalid(`${method} requires deltaBase64 or closeStdin`);
  }
  if (deltaBase64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(deltaBase64))
    throw invalid('invalid deltaBase64: this is not base64 with padding');
  return Buffer.from(deltaBase64, 'base64');
}

function checkProgram(params: ProgramParams, method: string): void {
  if (params.command.length === 0) throw invalid('command must not be empty');
  checkStartSize({ argv: params.command, env: params.env ?? {} });
  if (isGiven(params.timeoutMs) && params.timeoutMs < 0)
    throw invalid(`${method} timeoutMs must be non-negative, got ${params.timeoutMs}`);
  if (!params.size) return;
  if (!params.tty) throw invalid(`${method} size requires tty: true`);
  checkSize(params.size, method);
}

/** A remote client with the permission for commands may run them outside the sandbox; where they begin is the operator's choice. */
async function checkFolderOf(principal: Principal, cwd: string, { config, isBelow }: PlaceParts): Promise<void> {
  if (principal.isLocal) return;
  const { remote } = await config.load();
  if (await isBelow(cwd, remote.roots)) return;
  throw new AppError('forbidden', `the folder ${cwd} is beyond those that remote clients may have here`, { path: cwd });
}

/** Rejects as *forbidden* what the administrator does not allow. */
async function policyOf(params: ExecParams, cwd: string, parts: PlaceParts): Promise<HeldPolicy> {
  const policy = await wantedPolicy(params, cwd, parts);
  const { requirements } = parts.config;
  checkRequiredSandbox(policy, requirements);
  await checkRequiredRoots(policy, [cwd], requirements, parts.isBelow);
  return policy;
}

async function wantedPolicy(params: ExecParams, cwd: string, { config }: PlaceParts): Promise<HeldPolicy> {
  if (params.sandboxPolicy) return params.sandboxPolicy;
  return params.permissionProfile
    ? profileOf(await config.load(cwd), params.permissionProfile).sandboxPolicy
    : configuredPolicy(await config.load(), cwd);
}

function specOf(
  params: ProgramParams,
  cwd: string,
  policy: HeldPolicy,
  parts: PlaceParts,
  owner: string,
): Omit<ProcessSpec, 'cap' | 'timeoutMs'> {
  const changes = Object.entries(params.env ?? {}).map(([name, value]) => [name, value ?? undefined] as const);
  return {
    argv: params.command as [string, ...string[]],
    cwd,
    env: childEnvironment(parts.environment, Object.fromEntries(changes)),
    policy: confinementOf(policy, [cwd], parts.hidden),
    owner,
    terminal: params.tty ? (params.size ?? DEFAULT_SIZE) : undefined,
    takesInput: params.streamStdin || params.tty,
  };
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined;
const invalid = (message: string): AppError => new AppError('invalid', message);
