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
  ...['builtin', 'busybox', 'command', 'coproc', 'dbus-run-session', 'fakeroot', 'nohup', 'setsid', 'toybox'].map(
    (name) => [name, {}] as const,
  ),
  ['chroot', { operands: 1 }],
  ['chrt', { valued: 'TPD', operands: 1 }],
  ['doas', { valued: 'Cu' }],
  ['env', { valued: 'CuS' }],
  ['exec', { valued: 'a' }],
  ['flock', { valued: 'Ew', operands: 1 }],
  ['ionice', { valued: 'cnpPu' }],
  ['nice', { valued: 'n' }],
  ['ltrace', { valued: 'aADeFlnopsuwxX' }],
  ['nsenter', { valued: 'tSG' }],
  ['parallel', { valued: 'aCEIjLnNPSsd' }],
  ['pkexec', {}],
  ['runuser', { valued: 'ugGs' }],
  ['setpriv', {}],
  ['stdbuf', { valued: 'eio' }],
  ['strace', { valued: 'abeEoOpPsSuUX' }],
  ['systemd-run', { valued: 'HMpEuCt' }],
  ['sudo', { valued: 'CDghpRrTtUu' }],
  ['taskset', { operands: 1 }],
  ['time', { valued: 'fo' }],
  ['timeout', { valued: 'ks', operands: 1 }],
  ['unshare', { valued: 'RSGw' }],
  ['watch', { valued: 'n' }],
  ['xargs', { valued: 'adEILnPs' }],
]);

/** Options that shell lines, or what is split into words, follow: in the same word or the next. */
const LINES: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^-[a-zA-Z0-9]*?S(?<joined>.+)?$|^--split-string(?:=(?<value>.*)|$)/s],
  ['flock', /^-[a-zA-Z]*?c(?<joined>.+)?$|^--command(?:=(?<value>.*)|$)/s],
]);
const OF_SHELL = /^-[a-zA-Z]*c[a-zA-Z]*$|^--command(?:=(?<value>.*)|$)/s;

const SHELL = /^(?:(?:ba|z|da|k|a|fi)?sh|su|runuser)$/;

export interface Started {
  /** Where the words of each begin. */
  readonly commands: readonly number[];
  /** Shell lines. */
  readonly lines: readonly string[];
  /** It does what its input says, as far as its words tell. */
  readonly readsInput: boolean;
}

const NOTHING: Started = { commands: [], lines: [], readsInput: false };

/** What a command starts, as its words say. Where an option may or may not take the next word, it is read both ways. */
export function startedBy(argv: SeenWords): Started {
  const program = nameOf(argv[0]);
  if (program === undefined) return NOTHING;
  if (program === 'eval') return { ...NOTHING, lines: [evaluated(argv)] };
  if (program === 'trap') return { ...NOTHING, lines: firstOperand(argv) };
  if (program === 'find') return { ...NOTHING, commands: executedByFind(argv) };
  if (program === 'source' || program === '.') return { ...NOTHING, readsInput: isInput(argv[1]) };
  // It tells only where the command is.
  if (program === 'command' && /^-p*[vV]/.test(argv[1] ?? '')) return NOTHING;
  const starter = STARTERS.get(program);
  const commands = starter ? startsOf(argv, starter) : [];
  if (SHELL.test(program) || program === 'script') {
    const lines = lineAfter(argv, OF_SHELL);
    const mayReadInput = /^(?:su|runuser|script)$/.test(program) || isInput(argv[1]);
    return { commands, lines, readsInput: lines.length === 0 && mayReadInput };
  }
  const option = LINES.get(program);
  const lines = option ? lineAfter(argv, option) : [];
  // A name, which only a group can have.
  if (program === 'coproc' && argv[2] === '{') return { commands: [3], lines, readsInput: false };
  return { commands, lines, readsInput: program === 'parallel' };
}

/** Where a shell looks for its commands: in its input, unless this first word names a file of them. */
const isInput = (word: string | undefined): boolean => word === undefined || /^(?:[-+]|\/dev\/|\/proc\/)/.test(word);

function firstOperand(argv: SeenWords): readonly string[] {
  const operand = argv.slice(1).find((word) => word !== '--');
  return operand === undefined ? [] : [operand];
}

/** The name of a program, of whatever folder. */
export const nameOf = (program: string | undefined): string | undefined => program?.slice(program.lastIndexOf('/') + 1);

function lineAfter(argv: SeenWords, option: RegExp): readonly string[] {
  const at = argv.findIndex((word, index) => index > 0 && word !== undefined && option.test(word));
  const { joined = undefined, value = joined } = option.exec(argv[at] ?? '')?.groups ?? {};
  if (value !== undefined) return [value];
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
