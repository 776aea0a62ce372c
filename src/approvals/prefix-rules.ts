// Rules about commands by their first words: a readable file of `prefix_rule(pattern=["git", "status"], decision="allow")` lines.

import { mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../base/errors.ts';
import { Mailbox } from '../base/mailbox.ts';

/** `allow`: need not be asked about. `prompt`: people are asked each time. `forbidden`: never runs, whoever says yes. */
export type RuleDecision = 'allow' | 'prompt' | 'forbidden';

export interface PrefixRules {
  /**
   * What the rules say of a line: the strictest of what they say of its simple commands (undefined: it is more than those) and of
   * the shell that is started with it. It is allowed only where all of its commands are.
   */
  decide(
    commands: readonly (readonly string[])[] | undefined,
    shell: readonly string[],
  ): Promise<RuleDecision | undefined>;
  /** Remembers a prefix as allowed; on disk when it resolves. */
  remember(prefix: readonly string[]): Promise<void>;
}

interface Rule {
  /** A word, or the words of which it is one, each. */
  readonly pattern: readonly (string | readonly string[])[];
  readonly decision: RuleDecision;
}

const RULE =
  /^\s*prefix_rule\(\s*pattern\s*=\s*(\[.*\])\s*,\s*decision\s*=\s*"(allow|prompt|forbidden)"\s*\)\s*(?:#.*)?$/;
const STRICTEST: readonly RuleDecision[] = ['forbidden', 'prompt', 'allow'];

/** Rules in `file`, which is read again for each question, so that edits by hand count at once. Unreadable lines allow nothing. */
export function createPrefixRules(file: string): PrefixRules {
  const writes = new Mailbox();
  return {
    async decide(commands, shell) {
      const rules = await readRules(file);
      const said = (argv: readonly string[]) => {
        const decisions = rules.filter((rule) => covers(rule, argv)).map(({ decision }) => decision);
        return STRICTEST.find((each) => decisions.includes(each));
      };
      const whole = said(shell);
      const each = (commands ?? []).map(said);
      if ([whole, ...each].includes('forbidden')) return 'forbidden';
      if ([whole, ...each].includes('prompt')) return 'prompt';
      const isAllowed = whole === 'allow' || (each.length > 0 && each.every((decision) => decision === 'allow'));
      return isAllowed ? 'allow' : undefined;
    },
    remember: (prefix) => writes.run(() => appendRule(file, prefix)),
  };
}

function covers({ pattern }: Rule, argv: readonly string[]): boolean {
  const fits = (word: Rule['pattern'][number], index: number) => {
    const given = argv[index];
    return typeof word === 'string' ? given === word : given !== undefined && word.includes(given);
  };
  return pattern.length > 0 && pattern.every(fits);
}

async function readRules(file: string): Promise<readonly Rule[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    const [, words, decision] = RULE.exec(line) ?? [];
    const pattern = words === undefined ? undefined : parsePattern(words);
    return pattern ? [{ pattern, decision: decision as RuleDecision }] : [];
  });
}

function parsePattern(text: string): Rule['pattern'] | undefined {
  try {
    const words: unknown = JSON.parse(text);
    return Array.isArray(words) && words.every((word) => isText(word) || (Array.isArray(word) && word.every(isText)))
      ? words
      : undefined;
  } catch {
    return undefined;
  }
}

const isText = (word: unknown): word is string => typeof word === 'string';

async function appendRule(file: string, prefix: readonly string[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a', 0o600);
  try {
    const words = prefix.map((word) => JSON.stringify(word)).join(', ');
    await handle.appendFile(`prefix_rule(pattern=[${words}], decision="allow")\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
