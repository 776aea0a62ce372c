// What the commands of heddle history do, from the data directory to the exit code.

import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AppError, isAppError } from '../base/errors.ts';
import type { ExportVerdict } from '../history/export.ts';
import { noHistory, recordsFile } from '../history/places.ts';
import type { OpenedHistory } from '../history/read-only.ts';
import { isOfOtherFormat, unreadable } from '../history/read-only.ts';
import { commandLog, VERSION } from './environment.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { runOwn } from './own-process.ts';
import { plural } from './terminal.ts';
import { writeLines } from './written-lines.ts';

const QUICK_MS = 400;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sizeOf = (bytes: number): string =>
  bytes < 2 ** 20 ? `${(bytes / 2 ** 10).toFixed(0)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** A damaged file can end the process that reads it, so that another one reads. */
export async function verifyApart(directory: string, thread: string | undefined): Promise<ExitCode> {
  const args = [
    'history',
    'verify',
    '--here',
    '--data-dir',
    directory,
    ...(thread === undefined ? [] : ['--thread', thread]),
  ];
  const { code, signal } = await runOwn(args, true);
  if (code === EXIT.done || code === EXIT.failed || code === EXIT.usage) return code;
  say(`damaged: reading it ended the process (${signal ?? `exit code ${code}`})`);
  process.stderr.write(`heddle: ${unreadable(directory, undefined).message}\n`);
  return EXIT.failed;
}

export async function verifyHere(directory: string, thread: string | undefined): Promise<ExitCode> {
  const { verifyHistory } = await import('../history/verify.ts');
  const found = await verifyHistory(directory, thread === undefined ? {} : { threadId: thread }).catch(
    (error: unknown) => {
      // Whatever reading stumbled over: a sound file gives no such errors.
      throw isAppError(error) && error.data.kind !== 'damaged' ? error : unreadable(directory, error);
    },
  );
  for (const { threadId, tenant, seq, problem } of found.damages)
    say(`damaged: thread ${threadId} (tenant ${tenant}), record ${seq}: ${problem}`);
  const walked = `${plural(found.threads, 'thread')}, ${plural(found.records, 'record')}`;
  const isWhole = found.damages.length === 0;
  say(`${walked}: ${isWhole ? 'all as written' : `${plural(found.damages.length, 'thread')} damaged`}`);
  return isWhole ? EXIT.done : EXIT.failed;
}

export async function verifyFile(file: string): Promise<ExitCode> {
  const { readExport } = await import('../history/export.ts');
  const verdict = await readExport(file);
  showDamages(verdict);
  const isWhole = verdict.damages.length === 0;
  say(
    `thread ${verdict.threadId ?? 'unknown'}, ${plural(verdict.records, 'record')}: ${isWhole ? 'all as written' : 'damaged'}`,
  );
  return isWhole ? EXIT.done : EXIT.failed;
}

function showDamages({ damages }: ExportVerdict): void {
  for (const { line, problem } of damages) say(`damaged: line ${line}: ${problem}`);
}

export async function exportTo(
  directory: string,
  thread: { readonly tenant: string; readonly id: string },
  output: string | undefined,
): Promise<ExitCode> {
  const { exportThread } = await import('../history/export.ts');
  return reading(directory, async (history) => {
    await writeLines(output, exportThread(history, thread.tenant, thread.id));
  });
}

export async function importFrom(
  { directory, tenant }: { readonly directory: string; readonly tenant: string },
  file: string,
  salvages: boolean,
): Promise<ExitCode> {
  const [{ importThread }, { openForImport }] = await Promise.all([
    import('../history/import.ts'),
    import('../history/lmdb.ts'),
  ]);
  return owning(directory, async (owned) => {
    const { target, close } = await openForImport({ directory: owned, log: commandLog() }, tenant);
    try {
      const { threadId, records, verdict } = await importThread(target, file, { salvages });
      showDamages(verdict);
      if (verdict.damages.length > 0) await setAside(file, verdict);
      say(`imported as thread ${threadId}: ${plural(records, 'record')}`);
      return EXIT.done;
    } finally {
      await close();
    }
  });
}

async function setAside(file: string, { damages }: ExportVerdict): Promise<void> {
  const torn = damages.filter(({ text }) => text !== '').map(({ line, text }) => `${line}\t${text}\n`);
  await writeFile(`${file}.damaged`, torn.join(''), { mode: 0o600 });
  say(`what is damaged lies in ${file}.damaged`);
}

export async function backUp(directory: string, to: string): Promise<ExitCode> {
  const { backupHistory } = await import('../history/backup.ts');
  return reading(directory, async (history) => {
    const { threads, blobs } = await backupHistory(history, resolve(to));
    say(`backed up into ${to}: ${plural(threads, 'thread')}, ${plural(blobs, 'long value')}`);
  });
}

export async function repairFrom(directory: string, backup: string): Promise<ExitCode> {
  const [{ checkBackup, repairHistory, restoreBackup }, { openReadOnly }] = await Promise.all([
    import('../history/repair.ts'),
    import('../history/read-only.ts'),
  ]);
  checkBackup(backup);
  return owning(directory, async (owned) => {
    const { signal, stderr } = await runOwn(['history', 'verify', '--here', '--data-dir', owned], false);
    // It was read, and is whole: another version has what opens it.
    if (isOfOtherFormat(stderr)) await (await openReadOnly(owned)).close();
    if (signal !== null || stderr !== '') {
      const aside = await restoreBackup(owned, backup);
      say(`the backup is in place${aside === undefined ? '' : `; what was there lies in ${aside}`}`);
      return EXIT.done;
    }
    const { repaired, lost } = await repairHistory(owned, backup, commandLog());
    for (const { threadId, seq } of lost) say(`lost: thread ${threadId}, record ${seq}: the backup has no whole copy`);
    say(`${plural(repaired, 'record')} made whole`);
    return lost.length === 0 ? EXIT.done : EXIT.failed;
  });
}

export async function showStats(directory: string, isJson: boolean): Promise<ExitCode> {
  const { historyStats } = await import('../history/stats.ts');
  return reading(directory, async (history) => {
    const stats = await historyStats(history);
    if (isJson) return say(JSON.stringify(stats));
    for (const { tenant, threads, archived, turns, events } of stats.tenants)
      say(
        `${tenant}: ${plural(threads, 'thread')} (${archived} archived), ${plural(turns, 'turn')}, ${plural(events, 'event')}`,
      );
    say(
      `${sizeOf(stats.bytes)} in ${plural(stats.rows, 'row')}, of which ${sizeOf(stats.freeBytes)} would come back with \`heddle history compact\``,
    );
    say(`${plural(stats.blobs, 'long value')}, ${sizeOf(stats.blobBytes)}; format ${stats.format}`);
  });
}

export async function compactNow(directory: string): Promise<ExitCode> {
  const { compactHistory } = await import('../history/compact.ts');
  if (!existsSync(recordsFile(directory))) throw noHistory(directory);
  return owning(directory, async (owned) => {
    const { before, after, blobsRemoved, blobsInDoubt } = await compactHistory(owned);
    say(`${sizeOf(before)} before, ${sizeOf(after)} after; ${plural(blobsRemoved, 'long value')} removed`);
    if (blobsInDoubt > 0)
      say(
        `${plural(blobsInDoubt, 'long value')} kept though nothing names them: damaged records may ` +
          '(`heddle history verify` shows them, `heddle history repair --from BACKUP` makes them whole)',
      );
    return EXIT.done;
  });
}

export async function probeHere(directory: string): Promise<ExitCode> {
  const { quickLook } = await import('../history/probe.ts');
  return reading(directory, (history) => quickLook(history, QUICK_MS));
}

/** For commands that only look: a server may have the directory. */
async function reading(directory: string, work: (history: OpenedHistory) => Promise<void>): Promise<ExitCode> {
  const { openReadOnly } = await import('../history/read-only.ts');
  const history = await openReadOnly(directory);
  try {
    await work(history);
    return EXIT.done;
  } finally {
    await history.close();
  }
}

/** For commands that write: nobody else may have the directory. */
async function owning(directory: string, work: (directory: string) => Promise<ExitCode>): Promise<ExitCode> {
  const { isOwned, takeOwnership } = await import('../history/owner.ts');
  if (await isOwned(directory))
    throw new AppError(
      'unavailable',
      `a server runs on ${directory}: stop it first, this command needs the history alone`,
    );
  const ownership = await takeOwnership({ directory, version: VERSION });
  try {
    return await work(ownership.directory);
  } finally {
    await ownership.close();
  }
}
