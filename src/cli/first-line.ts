// Tells a shared server who its client is: folder and settings are put into the client's `initialize`, and nothing else is touched.

import { Transform } from 'node:stream';

/** What a client's own command line and surroundings say. */
export interface AboutClient {
  /** Where its relative folders begin. */
  readonly cwd?: string;
  /** `key=value` each. */
  readonly settings: readonly string[];
}

/** A line that is longer is none of `initialize`. */
const MAX_LINE = 1024 * 1024;
const LF = 10;
/** How a WebSocket client begins, whose frames are no lines. */
const HTTP = 'GET ';

/**
 * Bytes pass as they are, but for the first line that is an `initialize`, and those right behind it that try again. `untold`:
 * called once when the client speaks in a way in which the server cannot be told.
 */
export function tellingServer(about: AboutClient, untold: () => void): Transform {
  let isTold = false;
  /** The rest passes unseen. */
  let isOver = false;
  let kept = Buffer.alloc(0);
  /** Of a line too long to be kept. */
  let isInside = false;
  const giveUp = (): void => {
    isOver = true;
    untold();
  };
  const release = (line: Buffer): Buffer => {
    if (isInside) return line;
    const text = line.toString('utf8');
    const told = withAbout(text, about);
    if (told !== undefined) {
      isTold = true;
      return Buffer.from(told);
    }
    if (initializeOf(text) !== undefined) giveUp();
    else isOver = isTold;
    return line;
  };
  const take = (): Buffer[] => {
    const out: Buffer[] = [];
    if (kept.subarray(0, HTTP.length).toString() === HTTP) giveUp();
    while (!isOver) {
      const end = kept.indexOf(LF) + 1;
      if (end === 0) break;
      out.push(release(kept.subarray(0, end)));
      isInside = false;
      kept = kept.subarray(end);
    }
    if (!isOver && kept.length <= MAX_LINE && !isInside) return out;
    isInside = !isOver;
    out.push(kept);
    kept = Buffer.alloc(0);
    return out;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (isOver) return done(null, chunk);
      kept = Buffer.concat([kept, chunk]);
      done(null, Buffer.concat(take()));
    },
    flush(done) {
      done(null, kept.length > 0 ? release(kept) : null);
    },
  });
}

const PARAMS = /"params"\s*:\s*\{\s*(\}?)/;
/** Of a client that says something of its own. */
const OURS = /"heddle"\s*:\s*\{\s*(\}?)/;

/** By its text, so that numbers stay what they are; what the client says itself counts. Undefined when it is no such line. */
export function withAbout(line: string, { cwd, settings }: AboutClient): string | undefined {
  const members = JSON.stringify({ cwd, settings: settings.length > 0 ? settings : undefined }).slice(1, -1);
  const texts = [inserted(line, OURS, members), inserted(line, PARAMS, `"heddle":{${members}}`)];
  return texts.find((text) => {
    const told = text === undefined ? undefined : initializeOf(text)?.heddle;
    return told && (cwd === undefined || told.cwd !== undefined) && (settings.length === 0 || told.settings);
  });
}

function inserted(line: string, place: RegExp, members: string): string | undefined {
  const found = place.exec(line);
  if (found === null) return undefined;
  const at = found.index + found[0].length - (found[1] as string).length;
  return `${line.slice(0, at)}${members}${found[1] === '' ? ',' : ''}${line.slice(at)}`;
}

function initializeOf(line: string): { readonly heddle?: Partial<AboutClient> } | undefined {
  try {
    const { method, params } = JSON.parse(line);
    return method === 'initialize' ? (params ?? {}) : undefined;
  } catch {
    return undefined;
  }
}
