// The administrator's requirements: what nobody on the wire, in a file or by a flag can change.

import { open, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { fingerprint } from '../base/canonical.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { SandboxMode } from '../model/policy.ts';
import { type Infer, schema } from '../model/schema.ts';
import { firstFault } from './faults.ts';
import { checkConfig } from './schema.ts';
import { cleaned, deepLine, isTooDeep, type Table } from './tables.ts';

const ApprovalName = schema(() => z.enum(['untrusted', 'on-request', 'never', 'granular']));

/** A requirement that is not understood cannot be kept: unknown names are refused. */
const RequirementsFile = schema(() =>
  z.strictObject({
    allowed_approval_policies: z.array(ApprovalName()).min(1).optional(),
    allowed_sandbox_modes: z
      .array(SandboxMode())
      .refine((modes) => modes.includes('read-only'), { message: 'expected `read-only` among the modes' })
      .optional(),
    /** What may be written to lies below one of these, wherever a thread or command is; nothing has full access then. */
    allowed_writable_roots: z
      .array(z.string().refine((path) => isAbsolute(path), { message: 'expected an absolute path' }))
      .optional(),
    /** Settings that go above all others. */
    settings: z.record(z.string(), z.unknown()).optional(),
  }),
);

export interface Requirements {
  readonly file: string;
  /** A digest; changes when the requirements do. */
  readonly version: string;
  /** Undefined: all. */
  readonly approvalPolicies: readonly Infer<typeof ApprovalName>[] | undefined;
  /** Undefined: all; `read-only` is always among them. */
  readonly sandboxModes: readonly SandboxMode[] | undefined;
  /** Undefined: everywhere; else no sandbox mode gives full access. */
  readonly writableRoots: readonly string[] | undefined;
  readonly settings: Table;
}

/** Where administrators put the file. */
export function requirementsFile(platform: NodeJS.Platform): string {
  if (platform === 'win32') return 'C:\\ProgramData\\heddle\\requirements.toml';
  return platform === 'darwin'
    ? '/Library/Application Support/Heddle/requirements.toml'
    : '/etc/heddle/requirements.toml';
}

const ROOT = 0;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Undefined: there is no file. Rejects as *unavailable* for one that cannot be read, that others than `owner` can change, or
 * that says what is not understood: a server that cannot keep the requirements must not start.
 */
export async function readRequirements(file: string, owner: number = ROOT): Promise<Requirements | undefined> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(file, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw refused(file, codeOf(error) ?? messageOf(error));
  }
  try {
    if (process.platform === 'win32') throw refused(file, 'who may change it cannot be told on this platform');
    const { uid, mode } = await handle.stat();
    if (uid !== owner || (mode & WRITABLE_BY_OTHERS) !== 0) {
      throw refused(file, 'it must belong to the administrator (root), and nobody else may write to it');
    }
    // A link can be put elsewhere by whoever may write where it lies.
    for (const path of new Set([resolve(file), await realpath(file)])) await checkFolders(path, owner);
    return await understood(await handle.readFile('utf8'), file);
  } finally {
    await handle.close();
  }
}

/** Who can rename in a folder above can put another file in its place. */
async function checkFolders(file: string, owner: number): Promise<void> {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const { uid, mode } = await stat(folder);
    const isOpen = (mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0;
    if ((uid !== owner && uid !== ROOT) || isOpen) throw refused(file, `others may change the folder ${folder}`);
    if (folder === dirname(folder)) return;
  }
}

async function understood(text: string, file: string): Promise<Requirements> {
  const { parse } = await import('smol-toml');
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw refused(file, messageOf(error).split('\n')[0] ?? 'it is not TOML');
  }
  if (isTooDeep(value)) throw refused(file, `line ${deepLine(text)}: settings are nested too deeply`);
  const checked = RequirementsFile().safeParse(value, { jitless: true });
  if (!checked.success) throw refused(file, firstFault(checked.error, value).message);
  const settings = cleaned(checked.data.settings ?? {});
  const config = checkConfig(settings);
  if (!config.success) throw refused(file, `${firstFault(config.error, settings).message} of \`settings\``);
  const { allowed_writable_roots: writableRoots, allowed_sandbox_modes: modes } = checked.data;
  const confined = (modes ?? SandboxMode().options).filter((mode) => mode !== 'danger-full-access');
  return {
    file,
    version: `sha256:${fingerprint(value)}`,
    approvalPolicies: checked.data.allowed_approval_policies,
    sandboxModes: writableRoots ? confined : modes,
    writableRoots,
    settings,
  };
}

function refused(file: string, reason: string): AppError {
  return new AppError('unavailable', `the administrator's requirements cannot be kept: ${file}: ${reason}`);
}
