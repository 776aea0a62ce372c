// What to say of a command line that cannot be read, in place of the words of the library.

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'app-server': ['status', 'proxy', 'daemon'],
  exec: [],
  chat: [],
  attach: [],
  doctor: [],
  approvals: ['list', 'answer'],
  policy: ['explain'],
  config: ['get', 'set', 'unset'],
  token: ['new', 'sign'],
  threads: ['list', 'show', 'archive', 'unarchive', 'delete'],
  history: ['verify', 'export', 'import', 'backup', 'repair', 'stats', 'compact'],
  schema: ['json', 'ts', 'openrpc'],
};

/** The command whose help is worth reading. */
export function helpFor(argv: readonly string[]): string {
  const [group = '', command = ''] = argv;
  const known = GROUPS[group];
  if (known === undefined) return 'heddle --help';
  return `heddle ${known.includes(command) ? `${group} ${command}` : group} --help`;
}

/** `text` is what the library says. */
export function misread(text: string, argv: readonly string[]): string {
  const [group = '', command = ''] = argv;
  const known = GROUPS[group];
  const isWord = (word: string) => word !== '' && !word.startsWith('-');
  const meant = /^Did you mean (\S+)\?/.exec(text)?.[1];
  const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`;
  const isUnknown = /^(Unknown (command|argument)|Did you mean)/.test(text);
  if (isUnknown && known === undefined && isWord(group)) return `unknown command \`${group}\`${hint}`;
  if (isUnknown && known !== undefined && known.length > 0 && isWord(command) && !known.includes(command))
    return `unknown command \`${group} ${command}\`${hint}`;
  if (/^Unknown argument/.test(text) && group === 'exec' && isWord(text.split(': ')[1] ?? ''))
    return 'the prompt is one argument: put it in quotation marks';
  if (/^Not enough non-option arguments/.test(text)) return 'an argument is missing';
  const flag = /^Not enough arguments following: (\S+)/.exec(text)?.[1];
  return flag === undefined ? text : `\`--${flag}\` needs a value`;
}
