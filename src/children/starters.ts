// Programs that start what their own words name: sudo, env, xargs, a shell with `-c`, and the like.

/** The words of a command as far as they can be told from the line; undefined where a word is made when it runs. */
export type SeenWords = readonly (string | undefined)[];

interface Starter {
  /** Letters of short options that take the next word. */
  readonly valued?: string;
  /** Words of its own before those of the command. */
  readonly operands?: number;
}

const STARTERS: ReadonlyMap<string, Starter> = new Map<string, Starter>([
  ...['builtin', 'busybox', 'command', 'coproc', 'nohup', 'setsid', 'toybox'].map((name) => [name, {}] as const),
  ['chroot', { operands: 1 }],
  ['doas', { valued: 'Cu' }],
  ['env', { valued: 'CuS' }],
  ['exec', { valued: 'a' }],
  ['flock', { valued: 'Ew', operands: 1 }],
  ['ionice', { valued: 'cnpPu' }],
  ['nice', { valued: 'n' }],
  ['stdbuf', { valued: 'eio' }],
  ['strace', { valued: 'abeEoOpPsSuUX' }],
  ['sudo', { valued: 'CDghpRrTtUu' }],
  ['time', { valued: 'fo' }],
  ['timeout', { valued: 'ks', operands: 1 }],
  ['watch', { valued: 'n' }],
  ['xargs', { valued: 'adEILnPs' }],
]);

const SHELL = /^(?:(?:ba|z|da|k|a|fi)?sh|su|runuser)$/;

export interface Started {
  /** Where the words of each begin. */
  readonly commands: readonly number[];
  /** Shell lines. */
  readonly lines: readonly string[];
}

/** What a command starts, as its words say. Where an option may or may not take the next word, it is read both ways. */
export function startedBy(argv: SeenWords): Started {
  const program = nameOf(argv[0]);
  if (program === undefined) return { commands: [], lines: [] };
  if (SHELL.test(program)) return { commands: [], lines: lineAfter(argv, /^-[a-zA-Z]*c[a-zA-Z]*$|^--command$/) };
  if (program === 'eval') return { commands: [], lines: [evaluated(argv)] };
  if (program === 'find') return { commands: executedByFind(argv), lines: [] };
  // It tells only where the command is.
  if (program === 'command' && /^-p*[vV]/.test(argv[1] ?? '')) return { commands: [], lines: [] };
  const starter = STARTERS.get(program);
  const lines = program === 'env' ? lineAfter(argv, /^-[a-zA-Z0-9]*S$|^--split-string$/) : [];
  return { commands: starter ? startsOf(argv, starter) : [], lines };
}

/** The name of a program, of whatever folder. */
export const nameOf = (program: string | undefined): string | undefined => program?.slice(program.lastIndexOf('/') + 1);

function lineAfter(argv: SeenWords, option: RegExp): readonly string[] {
  const at = argv.findIndex((word, index) => index > 0 && word !== undefined && option.test(word));
  const line = at < 0 ? undefined : argv.slice(at + 1).find((word) => word !== undefined && !/^[-+]/.test(word));
  return line === undefined ? [] : [line];
}

/** However often it is to be read. */
function evaluated(argv: SeenWords): string {
  const first = argv.findIndex((word) => word !== 'eval');
  return first < 0
    ? ''
    : argv
        .slice(Math.max(first, 1))
        .map((word) => word ?? '$_')
        .join(' ');
}

function executedByFind(argv: SeenWords): readonly number[] {
  return argv.flatMap((word, index) => (/^-(exec|ok)(dir)?$/.test(word ?? '') ? [index + 1] : []));
}

function startsOf(argv: SeenWords, { valued = '', operands = 0 }: Starter): readonly number[] {
  const starts = new Set<number>();
  const seen = new Set<string>();
  const open: (readonly [index: number, operands: number])[] = [[1, operands]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [index, left] = next;
    if (index >= argv.length || seen.has(next.join())) continue;
    seen.add(next.join());
    const word = argv[index];
    if (word?.startsWith('--') && word !== '--') {
      open.push([index + 1, left]);
      if (!word.includes('=')) open.push([index + 2, left]);
    } else if (word?.startsWith('-')) open.push([index + (takesNext(word, valued) ? 2 : 1), left]);
    else if (word === undefined || /^[A-Za-z_]\w*=/.test(word)) open.push([index + 1, left]);
    else if (left > 0) open.push([index + 1, left - 1]);
    else starts.add(index);
  }
  return [...starts];
}

/** Of letters in one word, the first that takes a value takes what is left of the word, or else the next one. */
function takesNext(word: string, valued: string): boolean {
  const letters = [...word.slice(1)];
  const first = letters.findIndex((letter) => valued.includes(letter));
  return first >= 0 && first === letters.length - 1;
}
