// Making a capability token in a file, and signing bearer tokens.

import { createHash, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PERMISSIONS } from '../auth/principal.ts';
import { readSecretFile } from '../auth/secrets.ts';
import { MIN_SECRET_BYTES } from '../auth/tokens.ts';
import { AppError, codeOf, messageOf } from '../base/errors.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

const TOKEN_BYTES = 32;

/** Never replaces a file: servers and clients may be using what is in it. */
export async function newToken(path: string): Promise<ExitCode> {
  const file = resolve(path);
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  await writeNew(file, `${token}\n`);
  const digest = createHash('sha256').update(token).digest('hex');
  process.stdout.write(
    `token file: ${file}\nsha256: ${digest}\n` +
      `as a token:  heddle app-server --listen ws://127.0.0.1:0 --ws-auth capability-token --ws-token-file ${file}\n` +
      `as a secret: heddle app-server … --ws-auth signed-bearer-token --ws-shared-secret-file ${file}\n`,
  );
  return EXIT.done;
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new AppError('unavailable', `${file} exists and is left as it is; name another file, or remove it first`);
    throw new AppError('unavailable', `cannot write ${file}: ${messageOf(error)}`);
  }
}

export interface Claims {
  readonly secretFile: string;
  readonly sub: string;
  readonly tenant: string | undefined;
  readonly scope: string | undefined;
  readonly expires: string;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
}

/** Prints the token, and nothing else, to standard output. */
export async function signToken(claims: Claims): Promise<ExitCode> {
  const seconds = lifetime(claims.expires);
  const scope = scopeOf(claims.scope);
  const { sub, tenant, issuer, audience } = claims;
  if (tenant !== undefined && !/^[\w.-]{1,64}$/.test(tenant))
    throw new AppError('invalid', `--tenant \`${tenant}\` must be 1 to 64 letters, digits, \`_\`, \`.\` or \`-\``);
  const secret = await readSecretFile(claims.secretFile);
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES)
    throw new AppError(
      'unavailable',
      `the secret in ${claims.secretFile} must be at least ${MIN_SECRET_BYTES} bytes; make one with: heddle token new --file PATH`,
    );
  const { SignJWT } = await import('jose');
  const now = Math.floor(Date.now() / 1000);
  const token = new SignJWT({
    ...(tenant === undefined ? {} : { tenant }),
    ...(scope === undefined ? {} : { scope }),
  })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setSubject(sub)
    .setIssuedAt(now)
    .setExpirationTime(now + seconds);
  if (issuer !== undefined) token.setIssuer(issuer);
  if (audience !== undefined) token.setAudience(audience);
  process.stdout.write(`${await token.sign(Buffer.from(secret))}\n`);
  return EXIT.done;
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds in a text such as `30m`. Throws as *invalid*. */
export function lifetime(text: string): number {
  const parts = /^([1-9]\d{0,5})([smhd])$/.exec(text);
  if (!parts) throw new AppError('invalid', `--expires \`${text}\` is not a time; type one such as 30m, 12h or 7d`);
  return Number(parts[1]) * SECONDS[parts[2]!]!;
}

function scopeOf(text: string | undefined): string | undefined {
  const names = text?.split(/[\s,]+/).filter((name) => name !== '');
  const unknown = names?.find((name) => !PERMISSIONS.some((known) => known === name));
  if (unknown !== undefined)
    throw new AppError('invalid', `unknown permission \`${unknown}\` in --scope; known are ${PERMISSIONS.join(', ')}`);
  return names?.join(' ');
}
