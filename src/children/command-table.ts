// What single well-known commands look at, told from their words alone.

type Described =
  | { readonly type: 'read'; readonly file: string }
  | { readonly type: 'listFiles'; readonly path: string | null }
  | { readonly type: 'search'; readonly query: string | null; readonly path: string | null };

type Rule = (operands: readonly string[]) => Described | undefined;

/** What a command looks at, or undefined if it is not one that merely reads, lists or searches. */
export function describe(argv: readonly string[]): Described | undefined {
  const [program, ...operands] = argv;
  if (program === 'git') return describeGit(operands);
  return program !== undefined && RULES.has(program) ? RULES.get(program)?.(operands) : undefined;
}

const reader =
  (...flagsWithValue: string[]): Rule =>
  (operands) => {
    const files = positional(operands, flagsWithValue);
    return files.length === 1 && files[0] !== undefined ? { type: 'read', file: files[0] } : undefined;
  };

const lister =
  (...flagsWithValue: string[]): Rule =>
  (operands) => ({ type: 'listFiles', path: shortPath(positional(operands, flagsWithValue)[0]) });

const searcher =
  (...flagsWithValue: string[]): Rule =>
  (operands) => {
    const [query, path] = positional(operands, flagsWithValue);
    return { type: 'search', query: query ?? null, path: shortPath(path) };
  };

const CONTEXT = ['-A', '-B', '-C', '-m', '--context', '--after-context', '--before-context', '--max-count'];

const ripgrep: Rule = (operands) => {
  const flags = [...CONTEXT, '-g', '--glob', '--iglob', '-t', '--type', '-T', '--type-not', '-M', '-j', '--max-depth'];
  if (operands.includes('--files')) return lister(...flags)(operands);
  return searcher(...flags)(operands);
};

const fd: Rule = (operands) => {
  const search = searcher('-t', '--type', '-e', '--extension', '-E', '--exclude', '-d', '--max-depth')(operands);
  if (operands.some((each) => /^(-x|-X|--exec)/.test(each)) || search?.type !== 'search') return undefined;
  return search.query === null ? { type: 'listFiles', path: search.path } : search;
};

const find: Rule = (operands) => {
  if (operands.some((each) => /^-(delete|exec|execdir|ok|okdir|fls|fprint0?|fprintf)$/.test(each))) return undefined;
  const path = operands[0]?.startsWith('-') ? null : shortPath(operands[0]);
  const test = operands.findIndex((each) => /^-i?(name|path|regex)$/.test(each));
  return test < 0 ? { type: 'listFiles', path } : { type: 'search', query: operands[test + 1] ?? null, path };
};

/** `head` and `tail`: of one file, by lines. */
const lines: Rule = (operands) => {
  const rest = operands[0] === '-n' && /^[-+]?\d+$/.test(operands[1] ?? '') ? operands.slice(2) : operands;
  const file = rest.length === 1 ? rest[0] : undefined;
  return file === undefined || file.startsWith('-') ? undefined : { type: 'read', file };
};

const sed: Rule = ([flag, script, file, ...more]) =>
  flag === '-n' &&
  /^\d+(,\d+)?p$/.test(script ?? '') &&
  file !== undefined &&
  !file.startsWith('-') &&
  more.length === 0
    ? { type: 'read', file }
    : undefined;

const awk: Rule = (operands) => {
  const [script, file] = operands;
  // A script that starts programs or writes files does more than read.
  if (operands.length !== 2 || !script || script.startsWith('-') || /system|getline|[>|]/.test(script))
    return undefined;
  return { type: 'read', file: file as string };
};

const python: Rule = ([flag, script, ...more]) =>
  flag === '-c' && more.length === 0 && /^import os; ?print\(os\.listdir\(["']?\.?["']?\)\)$/.test(script ?? '')
    ? { type: 'listFiles', path: null }
    : undefined;

const RULES: ReadonlyMap<string, Rule> = new Map([
  ...['cat', 'more'].map((name) => [name, reader()] as const),
  ...['bat', 'batcat'].map((name) => [name, reader('--theme', '--language', '-l', '--style', '-r')] as const),
  ['less', reader('-p', '-P', '-x', '-y', '-z', '-j')],
  ['nl', reader('-b', '-s', '-w', '-v', '-i', '-h', '-f', '-d', '-n')],
  ['head', lines],
  ['tail', lines],
  ['sed', sed],
  ['awk', awk],
  ['ls', lister('-I', '-w', '--block-size', '--format', '--time-style', '--color', '--quoting-style')],
  ...['eza', 'exa'].map(
    (name) => [name, lister('-I', '--ignore-glob', '--color', '--sort', '--time-style', '-L')] as const,
  ),
  ['tree', lister('-L', '-P', '-I', '--charset', '--filelimit', '--sort')],
  ['du', lister('-d', '--max-depth', '-B', '--block-size', '--exclude', '--time-style')],
  ...['rg', 'rga', 'ripgrep-all'].map((name) => [name, ripgrep] as const),
  ...['grep', 'egrep', 'fgrep', 'ag', 'ack', 'pt'].map((name) => [name, searcher(...CONTEXT)] as const),
  ['fd', fd],
  ['find', find],
  ...['python', 'python3'].map((name) => [name, python] as const),
]);

function describeGit([verb, ...operands]: readonly string[]): Described | undefined {
  if (verb === 'grep')
    return operands.some((each) => /^(-O|--open-files)/.test(each)) ? undefined : searcher(...CONTEXT)(operands);
  return verb === 'ls-files' ? lister('-x', '--exclude', '-X', '--exclude-from')(operands) : undefined;
}

/** What is not a flag nor the value of one; everything after `--` counts. */
function positional(operands: readonly string[], flagsWithValue: readonly string[]): string[] {
  const found: string[] = [];
  for (let index = 0; index < operands.length; index += 1) {
    const each = operands[index] as string;
    if (each === '--') return [...found, ...operands.slice(index + 1)];
    if (flagsWithValue.includes(each)) index += 1;
    else if (!each.startsWith('-') || each === '-') found.push(each);
  }
  return found;
}

/** Folders that say little about what is looked at. */
const BLAND: ReadonlySet<string> = new Set(['build', 'dist', 'node_modules', 'src']);

function shortPath(path: string | undefined): string | null {
  if (path === undefined) return null;
  const parts = path.split('/').filter((part) => part !== '');
  return parts.findLast((part) => !BLAND.has(part)) ?? parts.at(-1) ?? path;
}
