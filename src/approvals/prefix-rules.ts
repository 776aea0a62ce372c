// Rules about commands by their first words, kept in a readable file of `prefix_rule(pattern=["git", "status"], decision="allow")`.

import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Mailbox } from '../base/mailbox.ts';
import { nameOf } from '../children/starters.ts';
import { covers, faultText, type Rule, type RuleDecision, type RulesFile, readRulesFile } from './rules-file.ts';

/** The commands of a shell line. */
export interface LineCommands {
  /** Its simple commands; undefined: it is more than those. Only these are allowed by rules. */
  readonly simple: readonly (readonly string[])[] | undefined;
  /** All that can be seen anywhere in it, a word undefined where it is made when the line runs. */
  readonly all: readonly (readonly (string | undefined)[])[];
  /** Nothing beside `all` can be in it that its text could show. */
  readonly isWhole: boolean;
  /** The shell that is started with it. */
  readonly shell: readonly string[];
}

/** What a rules file says of a line. */
export interface RulesSay {
  readonly decision: RuleDecision | undefined;
  /** Why, in the words of whoever wrote the rule that decided. */
  readonly justification: string | undefined;
  /** Something in the file cannot be read: then no rule allows anything, and one about this line may be lost. */
  readonly hasFaults: boolean;
}

export interface PrefixRules {
  /** The strictest of what the rules say of its commands and of its shell. It is allowed only where all of it is. Never rejects. */
  decide(line: LineCommands): Promise<RulesSay>;
  /** What of the file cannot be read, with its place, a line for people each. Never rejects. */
  faults(): Promise<readonly string[]>;
  /** Remembers a prefix as allowed; on disk when it resolves. */
  remember(prefix: readonly string[]): Promise<void>;
}

const NOT_WHOLE =
  'it may be about this line, which is too much to be looked through or hands text to a shell; write the commands themselves';

/** Rules in `file`, which is read again for each question, so that edits by hand count at once; `wasRead` is told what was found. */
export function createPrefixRules(file: string, wasRead: (found: RulesFile) => void = () => {}): PrefixRules {
  const writes = new Mailbox();
  const read = async (): Promise<RulesFile> => {
    const found = await readRulesFile(file);
    wasRead(found);
    return found;
  };
  return {
    async decide(line) {
      const { rules, faults } = await read();
      const hasFaults = faults.length > 0;
      for (const decision of ['forbidden', 'prompt'] as const) {
        const rule = rules.find((each) => each.decision === decision && isAbout(each, line));
        if (rule) return { decision, justification: rule.justification, hasFaults };
        const mayBeAbout = !line.isWhole && rules.some((each) => each.decision === decision);
        if (mayBeAbout) return { decision, justification: NOT_WHOLE, hasFaults };
      }
      const isAllowed = !hasFaults && allows(rules, line);
      return { decision: isAllowed ? 'allow' : undefined, justification: undefined, hasFaults };
    },
    faults: async () => (await read()).faults.map((fault) => faultText(file, fault)),
    remember: (prefix) => writes.run(() => appendRule(file, prefix)),
  };
}

/** Whether a strict rule is about the shell with this line, or about a command in it by its words or by the name of its program. */
function isAbout({ pattern }: Rule, { simple, all, shell }: LineCommands): boolean {
  if (covers(pattern, shell)) return true;
  const byName = all.map(([program, ...rest]) => [nameOf(program), ...rest]);
  return [...(simple ?? []), ...all, ...byName].some((argv) => covers(pattern, argv));
}

function allows(rules: readonly Rule[], { simple = [], shell }: LineCommands): boolean {
  const isAllowed = (argv: readonly string[]) =>
    rules.some(({ decision, pattern }) => decision === 'allow' && covers(pattern, argv));
  return isAllowed(shell) || (simple.length > 0 && simple.every(isAllowed));
}

async function appendRule(file: string, prefix: readonly string[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'a+', 0o600);
  try {
    const words = prefix.map((word) => JSON.stringify(word)).join(', ');
    const rule = `prefix_rule(pattern=[${words}], decision="allow")\n`;
    // A last line without an end is somebody's.
    const { size } = await handle.stat();
    const isEnded = size === 0 || (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer.toString() === '\n';
    await handle.appendFile(isEnded ? rule : `\n${rule}`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
