// Questions of the server as lines for people: all there is to know, safe to show on a terminal.

import type { z } from 'zod';
import { fieldsOf } from '../approvals/form.ts';
import {
  commandApproval,
  type ElicitationAnswer,
  elicitationRequest,
  fileChangeApproval,
  permissionsApproval,
  userInputRequest,
  type WireGrant,
} from '../approvals/requests.ts';
import type { ElicitationForm } from '../model/elicitation.ts';
import type { Params } from '../rpc/declare.ts';
import { bodyOf, headOf } from './file-changes.ts';
import { fieldLines } from './form-words.ts';
import { folded, visible } from './terminal.ts';

type CommandQuestion = Params<typeof commandApproval>;
type FileQuestion = Params<typeof fileChangeApproval>;
type PermissionsQuestion = Params<typeof permissionsApproval>;
type Elicitation = Params<typeof elicitationRequest>;
type InputQuestion = Params<typeof userInputRequest>;

/** What is asked, whatever it is about. */
export interface Question {
  /** For one line. */
  readonly about: string;
  /** Within a width. */
  readonly lines: (width: number) => readonly string[];
  /** Empty: it is answered in words. */
  readonly availableDecisions: readonly unknown[];
  /** What decisions mean here, where that is something else than elsewhere. */
  readonly meanings?: Readonly<Record<string, string>>;
  /** A yes comes with what is filled in here. */
  readonly form?: ElicitationForm;
}

/** Throws when the params are not those of the method. */
export function questionOf(method: string, params: unknown): Question {
  switch (method) {
    case commandApproval.method:
      return commandQuestion(commandApproval.params().parse(params));
    case fileChangeApproval.method:
      return fileQuestion(fileChangeApproval.params().parse(params));
    case permissionsApproval.method:
      return permissionsQuestion(permissionsApproval.params().parse(params));
    case userInputRequest.method:
      return inputQuestion(userInputRequest.params().parse(params));
    case elicitationRequest.method:
      return elicitationQuestion(elicitationRequest.params().parse(params));
    default:
      return unknownQuestion(method);
  }
}

export const unknownQuestion = (method: string): Question => ({
  about: method,
  lines: (width) => ['', ...folded(`A question that this version cannot show: ${visible(method)}`, width)],
  availableDecisions: [],
});

/** The command is shown whole: what is not seen cannot be approved. */
function commandQuestion(question: CommandQuestion): Question {
  const { kind, command, cwd, reason, heddle, availableDecisions, additionalPermissions } = question;
  const how: Readonly<Record<typeof heddle.sandbox, string>> = {
    sandboxed: 'It would run inside the sandbox.',
    bare: 'It would run OUTSIDE the sandbox.',
    unavailable: 'This host has no sandbox: it would run WITHOUT one.',
  };
  const lines = (width: number) => [
    '',
    kind === 'writeStdin' ? 'The model wants to type into a running command:' : 'A command needs your approval:',
    ...folded(visible(command), width - 4).map((line) => `    ${line}`),
    ...folded(`in ${visible(cwd)}`, width),
    ...(reason ? folded(`because: ${visible(reason)}`, width) : []),
    ...folded(how[heddle.sandbox], width),
    ...(additionalPermissions ? ['It would be given besides:', ...wishLines(additionalPermissions, width)] : []),
  ];
  return { about: command, lines, availableDecisions };
}

/** The changes are shown whole, and where a link leads to. */
function fileQuestion({ heddle, availableDecisions }: FileQuestion): Question {
  const { changes, targets, rule } = heddle;
  const named = new Set(changes.flatMap(({ path, kind }) => ('move_path' in kind ? [path, kind.move_path] : [path])));
  const elsewhere = targets.filter((path) => !named.has(path));
  const lines = (width: number) => [
    '',
    'A change of files needs your approval:',
    ...changes.flatMap((change) => [
      ...folded(headOf(change), width),
      ...bodyOf(change).flatMap((line) => folded(line, width - 4).map((part) => `    ${part}`)),
    ]),
    ...elsewhere.flatMap((path) => folded(`the file is really ${visible(path)}`, width)),
    ...folded(`asked because ${visible(rule)}`, width),
  ];
  return { about: changes.map(headOf).join(', '), lines, availableDecisions };
}

type Wished = PermissionsQuestion['permissions'];

const wishesOf = ({ network, fileSystem }: Wished): readonly string[] => [
  ...(network?.enabled ? ['the network'] : []),
  ...(fileSystem?.read ?? []).map((path) => `to see ${visible(path)}`),
  ...(fileSystem?.write ?? []).map((path) => `to change ${visible(path)}`),
];

const wishLines = (permissions: Wished, width: number): readonly string[] =>
  wishesOf(permissions).flatMap((wish) => folded(wish, width - 4).map((line) => `    ${line}`));

function permissionsQuestion({ permissions, reason }: PermissionsQuestion): Question {
  const lines = (width: number) => [
    '',
    'The model asks for more than its sandbox allows:',
    ...wishLines(permissions, width),
    ...(reason ? folded(`because: ${visible(reason)}`, width) : []),
  ];
  return {
    about: wishesOf(permissions).join(', '),
    lines,
    availableDecisions: ['accept', 'acceptForSession', 'decline'],
  };
}

/** What was asked for, or nothing of it. */
export function grantOf(params: unknown, decision: unknown): z.input<ReturnType<typeof WireGrant>> {
  const { permissions } = permissionsApproval.params().parse(params);
  if (decision !== 'accept' && decision !== 'acceptForSession') return { permissions: {}, scope: 'turn' };
  return { permissions, scope: decision === 'accept' ? 'turn' : 'session' };
}

/** A call of a tool; or a question of the server itself. */
function elicitationQuestion(question: Elicitation): Question {
  const { serverName, _meta } = question;
  if (question.mode === 'url') return addressQuestion(question);
  const rule = question.heddle?.rule;
  if (rule === undefined) return formQuestion(question);
  const { tool_name: tool, tool_params: parameters, tool_description: description } = _meta ?? {};
  const call = `${serverName}/${String(tool)} ${JSON.stringify(parameters ?? {})}`;
  const lines = (width: number) => [
    '',
    'A call of a tool of an MCP server needs your approval:',
    ...folded(visible(call), width - 4).map((line) => `    ${line}`),
    ...(typeof description === 'string' ? folded(`it says of itself: ${visible(description)}`, width) : []),
    ...folded(`asked because ${visible(rule)}`, width),
    'It would run OUTSIDE the sandbox.',
  ];
  return {
    about: call,
    lines,
    availableDecisions: ['accept', ...rememberedBy(_meta?.persist), 'decline', 'cancel'],
    meanings: { cancel: 'no, and cancel the call' },
  };
}

/** What it says of itself is the server's word: who asks is said first, and by us. */
function formQuestion(question: Extract<Elicitation, { mode: 'form' }>): Question {
  const { serverName, message, requestedSchema: form } = question;
  const fields = fieldsOf(form);
  const lines = (width: number) => [
    '',
    ...folded(`The MCP server ${visible(serverName)} asks:`, width),
    ...folded(visible(message), width - 4).map((line) => `    ${line}`),
    ...(fields.length > 0 ? folded('It is told what you fill in here, and nothing else:', width) : []),
    ...fields.flatMap((field) => fieldLines(field, width - 4).map((line) => `    ${line}`)),
  ];
  const accept = fields.length > 0 ? 'fill it in' : 'yes';
  return {
    about: `${serverName} asks: ${message}`,
    lines,
    availableDecisions: ['accept', 'decline', 'cancel'],
    meanings: { accept, ...NEITHER },
    form,
  };
}

const NEITHER = { cancel: 'neither yes nor no' };

/** An address that the server of MCP has checked to be one of http or https. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'nowhere: it is no address');

/** The address whole: whoever goes there has to see where it leads. */
function addressQuestion({ serverName, message, url }: Extract<Elicitation, { mode: 'url' }>): Question {
  const lines = (width: number) => [
    '',
    ...folded(`The MCP server ${visible(serverName)} asks you to go to an address in your browser:`, width),
    ...folded(visible(url), width - 4).map((line) => `    ${line}`),
    ...folded(`It leads to ${visible(hostOf(url))}`, width),
    ...folded(`it says: ${visible(message)}`, width),
    ...folded('A yes says to the server that you do; nothing is opened for you.', width),
  ];
  return {
    about: `${serverName} asks to visit ${url}`,
    lines,
    availableDecisions: ['accept', 'decline', 'cancel'],
    meanings: { accept: 'yes, I go there', ...NEITHER },
  };
}

const PERSISTENCE = { session: 'acceptForSession', always: 'acceptAlways' } as const;

/** The ways in which an acceptance may be remembered, as decisions. */
function rememberedBy(persist: unknown): readonly string[] {
  const offered: readonly unknown[] = Array.isArray(persist) ? persist : [];
  return (['session', 'always'] as const).flatMap((each) => (offered.includes(each) ? [PERSISTENCE[each]] : []));
}

/** In the form in which MCP servers are answered. */
export function elicitationAnswerOf(decision: unknown): z.input<ReturnType<typeof ElicitationAnswer>> {
  if (decision === 'accept') return { action: 'accept', content: {} };
  const persist = (['session', 'always'] as const).find((each) => PERSISTENCE[each] === decision);
  if (persist !== undefined) return { action: 'accept', content: {}, _meta: { persist } };
  return { action: decision === 'cancel' ? 'cancel' : 'decline', content: null };
}

function inputQuestion({ questions }: InputQuestion): Question {
  const lines = (width: number) => [
    '',
    'The model asks:',
    ...questions.flatMap(({ id, question, options }) => [
      ...folded(`${visible(id)}: ${visible(question)}`, width - 4).map((line) => `    ${line}`),
      ...(options ?? []).flatMap(({ label, description }) =>
        folded(`- ${visible(label)}: ${visible(description)}`, width - 6).map((line) => `      ${line}`),
      ),
    ]),
  ];
  return { about: questions.map(({ question }) => question).join(' '), lines, availableDecisions: [] };
}
