// What the system says went wrong with a path, as an error that names the path and the kind.

import { AppError, codeOf, type ErrorKind, isAppError } from '../base/errors.ts';

/** The kind, the words clients know from the operating system, and a finer kind for the wire where ours is too coarse. */
const FAULTS: Readonly<Record<string, readonly [ErrorKind, string, string?]>> = {
  ENOENT: ['notFound', 'No such file or directory'],
  EEXIST: ['conflict', 'File exists', 'already_exists'],
  ENOTEMPTY: ['conflict', 'Directory not empty', 'not_empty'],
  ENOTDIR: ['invalid', 'Not a directory', 'not_a_directory'],
  EISDIR: ['invalid', 'Is a directory', 'is_a_directory'],
  ELOOP: ['invalid', 'Too many levels of symbolic links', 'too_many_links'],
  ENAMETOOLONG: ['invalid', 'File name too long', 'name_too_long'],
  EINVAL: ['invalid', 'Invalid argument'],
  EACCES: ['forbidden', 'Permission denied', 'permission_denied'],
  EPERM: ['forbidden', 'Operation not permitted', 'permission_denied'],
  EROFS: ['forbidden', 'Read-only file system', 'read_only'],
  EBUSY: ['conflict', 'Device or resource busy', 'busy'],
  EXDEV: ['invalid', 'Invalid cross-device link'],
  ENOSPC: ['unavailable', 'No space left on device', 'no_space'],
  EDQUOT: ['unavailable', 'Disk quota exceeded', 'no_space'],
  EFBIG: ['invalid', 'File too large', 'too_large'],
  EMFILE: ['unavailable', 'Too many open files'],
  ENFILE: ['unavailable', 'Too many open files in system'],
  EIO: ['unavailable', 'Input/output error'],
};

/** The same error as an AppError about `path`; what is none of the system's stays as it is. */
export function fsFault(error: unknown, path: string): unknown {
  const code = codeOf(error);
  if (isAppError(error) || code === undefined) return error;
  const [kind, text, finer] = FAULTS[code] ?? ['unavailable', code];
  return new AppError(kind, `${text}: ${path}`, { path, code, ...(finer ? { kind: finer } : {}) }, { cause: error });
}

/** The same for work of several steps, when some may have been done: such an error does not say that nothing has changed. */
export function partialFault(error: unknown, path: string): unknown {
  const fault = fsFault(error, path);
  if (!isAppError(fault)) return fault;
  return new AppError(fault.kind, fault.message, { ...fault.data, isPartial: true }, { cause: error });
}

/** Settles as `work` does, with errors of the system told about `path`. */
export async function about<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fsFault(error, path);
  }
}

/** Like an error of the system, for what is found out without asking it. */
export function systemFault(code: string, path: string): unknown {
  return fsFault(Object.assign(new Error(code), { code }), path);
}
