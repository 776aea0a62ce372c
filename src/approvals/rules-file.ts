// A rules file: what its calls say about commands, and what in it says nothing because it cannot be read.

import { readFile } from 'node:fs/promises';
import { codeOf, messageOf } from '../base/errors.ts';
import { type Call, type Fault, positionIn, readCalls, Unreadable, type Value } from './rules-grammar.ts';

/** `allow`: need not be asked about. `prompt`: people are asked each time. `forbidden`: never runs, whoever says yes. */
export type RuleDecision = 'allow' | 'prompt' | 'forbidden';

export interface Rule {
  /** A word, or the words of which it is one, each; never empty. */
  readonly pattern: readonly (string | readonly string[])[];
  readonly decision: RuleDecision;
  /** Why, in the words of whoever wrote it. */
  readonly justification?: string;
}

export interface RulesFile {
  readonly file: string;
  readonly rules: readonly Rule[];
  /** In the order of the file; of a file that cannot be opened there is one, without a place. */
  readonly faults: readonly RulesFault[];
}

export type RulesFault = Fault | { readonly message: string; readonly line?: never; readonly column?: never };

/** A file that is not there has no rules. Never rejects. */
export async function readRulesFile(file: string): Promise<RulesFile> {
  try {
    return { file, ...parseRules(new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))) };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { file, rules: [], faults: [] };
    const why = codeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : messageOf(error);
    return { file, rules: [], faults: [{ message: `the file cannot be read: ${why}` }] };
  }
}

/** A fault as one line for people. */
export function faultText(file: string, { message, line, column }: RulesFault): string {
  return line === undefined ? `${file}: ${message}` : `${file}:${line}:${column}: ${message}`;
}

export function parseRules(text: string): Pick<RulesFile, 'rules' | 'faults'> {
  const { calls, faults } = readCalls(text);
  const rules: Rule[] = [];
  const wrong: Fault[] = [...faults];
  for (const call of calls) {
    try {
      rules.push(ruleOf(call));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      wrong.push({ message: error.message, ...positionIn(text, error.offset) });
    }
  }
  return { rules, faults: wrong.sort((a, b) => a.line - b.line || a.column - b.column) };
}

const ARGUMENTS = ['pattern', 'decision', 'justification', 'match', 'not_match'];
const DECISIONS: readonly string[] = ['allow', 'prompt', 'forbidden'] satisfies RuleDecision[];

function ruleOf({ at, given }: Call): Rule {
  for (const [name, value] of given)
    if (!ARGUMENTS.includes(name))
      throw new Unreadable(`there is no argument \`${name}\`: ${ARGUMENTS.join(', ')}`, value.at);
  const pattern = given.get('pattern');
  const decision = given.get('decision');
  if (!pattern) throw new Unreadable('the rule has no `pattern`', at);
  if (!decision) throw new Unreadable(`the rule has no \`decision\`: ${DECISIONS.join(', ')}`, at);
  const word = textOf(decision, '`decision`');
  if (!DECISIONS.includes(word))
    throw new Unreadable(`unknown decision ${JSON.stringify(word)}: ${DECISIONS.join(', ')}`, decision.at);
  const justification = given.get('justification');
  const rule: Rule = {
    pattern: listOf(pattern, '`pattern`').map((each) =>
      each.kind === 'text' ? each.text : wordsOf(each, 'a list of alternatives'),
    ),
    decision: word as RuleDecision,
    ...(justification ? { justification: textOf(justification, '`justification`') } : {}),
  };
  checkExamples(rule, given);
  return rule;
}

/** Examples that the pattern has to fit, and such that it must not: a rule that is not about what was meant is none. */
function checkExamples({ pattern }: Rule, given: Call['given']): void {
  for (const [name, fits] of [['match', true] as const, ['not_match', false] as const]) {
    const examples = given.get(name);
    if (!examples) continue;
    for (const example of listOf(examples, `\`${name}\``, 0)) {
      const words = example.kind === 'text' ? splitWords(example.text) : wordsOf(example, 'an example');
      if (covers(pattern, words) === fits) continue;
      throw new Unreadable(`the pattern ${fits ? 'does not fit this example' : 'fits this example'}`, example.at);
    }
  }
}

export function covers(pattern: Rule['pattern'], argv: readonly (string | undefined)[]): boolean {
  return pattern.every((word, index) => {
    const given = argv[index];
    return typeof word === 'string' ? given === word : given !== undefined && word.includes(given);
  });
}

/** As a shell would split a line that only quotes. */
function splitWords(line: string): readonly string[] {
  const words = line.match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, (_all, double, single, sign) =>
      double === undefined ? (single ?? sign) : double.replaceAll(/\\(["\\$`])/g, '$1'),
    ),
  );
}

function textOf(value: Value, what: string): string {
  if (value.kind === 'text') return value.text;
  throw new Unreadable(`${what} is a text in quotes`, value.at);
}

function listOf(value: Value, what: string, fewest = 1): readonly Value[] {
  if (value.kind !== 'list') throw new Unreadable(`${what} is a list`, value.at);
  if (value.items.length < fewest) throw new Unreadable(`${what} is empty`, value.at);
  return value.items;
}

const wordsOf = (value: Value, what: string): readonly string[] =>
  listOf(value, what).map((each) => textOf(each, `each word of ${what}`));
