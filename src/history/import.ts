// Taking in an exported thread, under an id that nobody has.

import { AppError } from '../base/errors.ts';
import { newId, type ThreadId } from '../model/ids.ts';
import { wholeMeta } from './catalogue-row.ts';
import { type ExportedGap, type ExportedRecord, type ExportVerdict, readExport } from './export.ts';
import { below } from './keys.ts';
import { type CopyTarget, LogCopy } from './log-copy.ts';
import { decode, encode, fill } from './records.ts';

export interface Imported {
  readonly threadId: ThreadId;
  readonly records: number;
  readonly verdict: ExportVerdict;
}

/**
 * The thread of an export, with its turns and items under their ids; it keeps its own id if that is free. Rejects as
 * *invalid* when the file is damaged, unless `salvages`: then all whole records are taken. Nothing is visible before all is
 * stored.
 */
export async function importThread(
  target: Omit<CopyTarget, 'id'>,
  file: string,
  options: { readonly salvages: boolean },
): Promise<Imported> {
  const verdict = await readExport(file);
  if (verdict.damages.length > 0 && !options.salvages) throw refused(file, verdict);
  if (verdict.threadId === undefined) throw refused(file, verdict);
  const isTaken = target.rows.scan({ ...below(target.keys.thread(verdict.threadId)), limit: 1 }).length > 0;
  const id = isTaken ? newId() : verdict.threadId;
  let copy: LogCopy | undefined;
  let records = 0;
  try {
    await readExport(file, async (record) => {
      copy ??= await begin({ ...target, id }, record, file, verdict);
      if ('gap' in record) return copy.add([record]);
      records += 1;
      await add({ ...target, id }, copy, record);
    });
    if (copy === undefined) throw refused(file, verdict);
    await (copy as LogCopy).finish([], () => {});
    return { threadId: id, records, verdict };
  } catch (error) {
    await (copy as LogCopy | undefined)?.abandon();
    throw error;
  }
}

async function begin(
  target: CopyTarget,
  first: ExportedRecord | ExportedGap,
  file: string,
  verdict: ExportVerdict,
): Promise<LogCopy> {
  if ('gap' in first || first.stored.event.type !== 'threadCreated') throw refused(file, verdict);
  return LogCopy.begin(target, { ...wholeMeta(first.stored.event.meta), id: target.id });
}

async function add(target: CopyTarget, copy: LogCopy, { stored, text, contents }: ExportedRecord): Promise<void> {
  const whole = decode<typeof stored>(text);
  for (const { path, hash } of whole.refs) fill(whole.value, path, contents.get(hash) as string);
  const { event } = whole.value;
  const renamed =
    event.type === 'threadCreated' && event.meta.id !== target.id
      ? { ...whole.value, event: { ...event, meta: { ...event.meta, id: target.id } } }
      : undefined;
  await target.blobs.write(contents);
  try {
    await copy.add([{ stored: renamed ?? whole.value, text: renamed ? encode(renamed).text : text, refs: whole.refs }]);
  } finally {
    target.blobs.settle(contents);
  }
}

function refused(file: string, { damages }: ExportVerdict): AppError {
  const [first] = damages;
  const where = first ? `line ${first.line}: ${first.problem}` : 'it does not begin with a thread';
  return new AppError(
    'unavailable',
    `${file} is damaged and was not imported (${where}); --salvage takes what is whole`,
    {
      kind: 'damaged',
      damages: damages.length,
    },
  );
}
