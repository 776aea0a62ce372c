// Tells a shared server where its client stands: the folder is put into the client's `initialize`, and nothing else is touched.

import { Transform } from 'node:stream';

/** A first line that is longer is none of `initialize`. */
const MAX_FIRST_LINE = 1024 * 1024;
const LF = 10;

/** Bytes pass as they are, but for the first line when that is an `initialize`. */
export function tellingFolder(cwd: string): Transform {
  let waiting: Buffer[] | undefined = [];
  let size = 0;
  const release = (bytes: Buffer): Buffer => {
    waiting = undefined;
    const end = bytes.indexOf(LF);
    const line = bytes.subarray(0, end < 0 ? bytes.length : end);
    return Buffer.concat([Buffer.from(withFolder(line.toString('utf8'), cwd) ?? line), bytes.subarray(line.length)]);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (waiting === undefined) return done(null, chunk);
      waiting.push(chunk);
      size += chunk.length;
      if (chunk.includes(LF) || size > MAX_FIRST_LINE) return done(null, release(Buffer.concat(waiting)));
      done();
    },
    flush(done) {
      done(null, waiting && size > 0 ? release(Buffer.concat(waiting)) : null);
    },
  });
}

const PARAMS = /"params"\s*:\s*\{\s*(\}?)/;

/** By its text, so that numbers stay what they are; undefined when it is no such line. */
export function withFolder(line: string, cwd: string): string | undefined {
  const found = PARAMS.exec(line);
  if (found === null) return undefined;
  const at = found.index + found[0].length - (found[1] as string).length;
  const member = `"heddle":${JSON.stringify({ cwd })}${found[1] === '' ? ',' : ''}`;
  const text = `${line.slice(0, at)}${member}${line.slice(at)}`;
  try {
    const { method, params } = JSON.parse(text);
    return method === 'initialize' && params.heddle?.cwd === cwd ? text : undefined;
  } catch {
    return undefined;
  }
}
