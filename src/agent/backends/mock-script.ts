// The language of the mock model: a script in the user's words, one step a line.
//
//   say Good morning                 says these words, one delta a word
//   say 200 words at 50 a second     says so many words; without a pace all at once
//   think About the weather          reasons, with the words as its summary
//   think 30 words at 10 a second
//   run echo hello                   runs a shell line with the command tool
//   run! rm -rf build                the same, and asks to leave the sandbox
//   leave cat                        runs it on a terminal and goes on without waiting for its end; `leave!` as `run!`
//   type hello                       types a line into the command that was left last
//   look                             waits for the end of that command, though not long, and sees what it prints
//   stop                             interrupts it
//   patch add notes.txt one\ntwo     makes a file with the patch tool; \n ends a line
//   patch replace notes.txt one => 1  changes a line of it
//   patch move a.txt b.txt ; delete c.txt
//                                    moves one file and removes another, both or none
//   plan done Look ; now Mend ; Test  shows these steps with the plan tool: completed, in progress, pending
//   propose Mend it ; Test it        proposes a plan of these lines; in plan mode it is shown as such
//   call lookup {"id":"T-1"}         calls a tool that the client declared with the thread
//   view dot.png                     looks at an image
//   fail                             fails the turn
//   fail overloaded                  fails it as an overloaded model does
//   fail cut                         breaks the stream off, each time it is tried again
//   hang                             says nothing more until it is stopped
//
// Lines that call tools (`run`, `leave`, `patch`, `plan`, `call`, `view`) and follow each other are called side by side; an empty line between them makes the next one wait. A
// script that ends with one is closed with a short message. Upper and lower case of the first word do not matter.

import { readCall } from './mock-calls.ts';
import { STDIN_TOOL } from './stdin-tool.ts';

export type Step =
  | { readonly type: 'say' | 'think'; readonly words: readonly string[]; readonly perSecond: number | null }
  /** A call of a tool. */
  | {
      readonly type: 'call';
      readonly name: string;
      readonly arguments: Readonly<Record<string, unknown>>;
      readonly followsCall: boolean;
    }
  | { readonly type: 'fail'; readonly how: 'plain' | 'overloaded' | 'cut' }
  | { readonly type: 'hang' };

export const EXPLANATION =
  'This is the mock model: it thinks nothing of its own and follows a script. Write one step a line, for example: ' +
  '"say 200 words at 50 a second", "think 30 words", "run echo hello", "run! touch outside" (asks to leave the sandbox), "leave cat", "type hello", "look", "stop", "patch add notes.txt one", ' +
  '"plan done Look ; now Mend", "propose Mend it", "call lookup {}", "view dot.png", ' +
  '"fail", "fail overloaded", "fail cut", "hang".';

const MAX_WORDS = 1_000_000;
const COUNTED = /^(\d{1,7}) words?(?: at (\d+(?:\.\d+)?) (?:a|per) second)?$/i;
const STEP = /^(say|think|propose|run!?|leave!?|type|look|stop|patch|plan|call|view|fail|hang)(?:\s+(\S.*))?$/is;

/** The steps of a text. One that is no script gives a single step that explains how to write one. */
export function readScript(text: string): readonly Step[] {
  const steps: Step[] = [];
  let followsCall = false;
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    if (line === '') {
      followsCall = false;
      continue;
    }
    const step = readStep(line, followsCall);
    if (step === undefined) return [explanation(steps.length > 0 ? line : undefined)];
    steps.push(step);
    followsCall = isCall(step);
  }
  return steps.length > 0 ? steps : [explanation(undefined)];
}

/** It is made with a tool. */
export const isCall = (step: Step | undefined): step is Extract<Step, { type: 'call' }> => step?.type === 'call';

function explanation(misread: string | undefined): Step {
  const text = misread === undefined ? EXPLANATION : `I do not understand the step "${misread}". ${EXPLANATION}`;
  return { type: 'say', words: wordsOf(text), perSecond: 100 };
}

function readStep(line: string, followsCall: boolean): Step | undefined {
  const match = STEP.exec(line);
  const verb = match?.[1]?.toLowerCase();
  const rest = match?.[2] ?? '';
  switch (verb) {
    case 'say':
    case 'think':
      return readWords(verb, rest);
    case 'propose':
      return rest === '' ? undefined : { type: 'say', words: proposal(rest), perSecond: null };
    case 'fail':
      if (rest === '') return { type: 'fail', how: 'plain' };
      return rest === 'overloaded' || rest === 'cut' ? { type: 'fail', how: rest } : undefined;
    case 'hang':
      return rest === '' ? { type: 'hang' } : undefined;
    default: {
      const call = verb === undefined ? undefined : readCall(verb, rest);
      // What is typed is for a command that may be started by the call before.
      return call && { type: 'call', ...call, followsCall: followsCall && call.name !== STDIN_TOOL };
    }
  }
}

/** The lines between the marks of a plan, one delta each. */
const proposal = (words: string): readonly string[] => [
  '<proposed_plan>\n',
  ...words.split(/\s;\s/).map((line) => `- ${line.trim()}\n`),
  '</proposed_plan>\n',
];

function readWords(type: 'say' | 'think', rest: string): Step | undefined {
  if (rest === '') return undefined;
  const counted = COUNTED.exec(rest);
  if (!counted) return { type, words: wordsOf(rest), perSecond: null };
  const count = Number(counted[1]);
  const perSecond = counted[2] === undefined ? null : Number(counted[2]);
  if (count < 1 || count > MAX_WORDS || perSecond === 0) return undefined;
  return { type, words: Array.from({ length: count }, (_, at) => `word${at + 1} `), perSecond };
}

/** Words with the blanks behind them, so that joined they are the text. */
const wordsOf = (text: string): readonly string[] => text.match(/\S+\s*/g) ?? [];
