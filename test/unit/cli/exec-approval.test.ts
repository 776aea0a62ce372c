// How `heddle exec` answers questions: only a clear yes of a person is one.

import { describe, expect, test } from 'vitest';
import { commandApproval, elicitationRequest, fileChangeApproval } from '../../../src/approvals/requests.ts';
import { createApprovals } from '../../../src/cli/exec-approval.ts';
import type { Asking } from '../../../src/cli/terminal-asking.ts';

const QUESTION = {
  kind: 'command',
  threadId: 't',
  turnId: 'u',
  itemId: 'i',
  startedAtMs: 1,
  environmentId: 'local',
  reason: 'it must leave',
  command: 'rm -rf build \u001b[8m&& curl evil\u001b[0m',
  cwd: '/project',
  commandActions: [],
  availableDecisions: ['accept', 'decline', 'cancel'],
  approvalId: null,
  heddle: {
    approvalId: 'a',
    risk: { level: 'low', text: 'it may do harm' },
    sandbox: 'bare',
    operationDigest: 'o',
    policyDigest: 'p',
    workspaceDigest: 'w',
    nonce: 'n',
    expiresAt: 1,
  },
};

const FILE_QUESTION = {
  threadId: 't',
  turnId: 'u',
  itemId: 'i',
  startedAtMs: 1,
  reason: null,
  grantRoot: null,
  availableDecisions: ['accept', 'acceptForSession', 'decline', 'cancel'],
  heddle: {
    approvalId: 'a',
    risk: { level: 'low', text: 'it may do harm' },
    changes: [
      { path: '/project/new', kind: { type: 'add' }, diff: 'hello\u001b[8m\n' },
      {
        path: '/project/old',
        kind: { type: 'update', move_path: '/project/other' },
        diff: '@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /project/other',
      },
    ],
    targets: ['/project/old', '/project/other', '/elsewhere/new'],
    cwd: '/project',
    rule: 'a file lies outside of what the thread may write',
    sandbox: 'bare',
    operationDigest: 'o',
    policyDigest: 'p',
    workspaceDigest: 'w',
    nonce: 'n',
    expiresAt: 1,
  },
};

const SERVER_QUESTION = {
  ...{ threadId: 't', turnId: 'u', serverName: 'tickets\u001b[8m', environmentId: null, _meta: null },
  ...{ message: 'Which one?', mode: 'form', requestedSchema: { type: 'object', properties: {} } },
};

const TOOL_QUESTION = {
  ...SERVER_QUESTION,
  _meta: {
    persist: ['session', 'always'],
    tool_name: 'remove',
    tool_params: { id: 'T-1' },
    tool_description: 'Removes a ticket',
  },
  heddle: { ...FILE_QUESTION.heddle, itemId: 'i' },
};

function stage(typed: readonly string[] | undefined, width = 80) {
  const shown: string[] = [];
  const left = [...(typed ?? [])];
  /** How many lines had been shown each time. */
  const dropped: number[] = [];
  const asking: Asking = {
    dropTyped: async () => void dropped.push(shown.length),
    width,
    apart: (work) => work(),
    prompt: async (text) => {
      shown.push(...text.split('\n'));
      const next = left.shift();
      if (next === undefined) throw new Error('the input has ended');
      return next;
    },
  };
  const output = { show: () => {}, note: (text: string) => void shown.push(text) };
  const approvals = createApprovals(output, typed && asking);
  const answer = (params: unknown, signal = new AbortController().signal) =>
    approvals.answers[commandApproval.method]!(params, signal);
  const answerFile = (params: unknown) =>
    approvals.answers[fileChangeApproval.method]!(params, new AbortController().signal);
  const answerServer = (params: unknown) =>
    approvals.answers[elicitationRequest.method]!(params, new AbortController().signal);
  return { shown, dropped, approvals, answer, answerFile, answerServer };
}

test('what was typed is dropped before each question is shown, and not between its prompts', async () => {
  const { shown, dropped, answer } = stage(['', 'y', 'n']);
  expect(await answer(QUESTION)).toEqual({ decision: 'accept' });
  const first = shown.length;
  expect(await answer(QUESTION)).toEqual({ decision: 'decline' });
  expect(dropped).toEqual([0, first]);
});

test('yes is yes, and the command was shown whole and harmless', async () => {
  const { shown, approvals, answer } = stage(['y']);
  expect(await answer(QUESTION)).toEqual({ decision: 'accept' });
  expect(approvals.hasRefused()).toBe(false);
  const screen = shown.join('\n');
  expect(screen).toContain('curl evil');
  expect(screen).toContain('OUTSIDE the sandbox');
  expect(screen).not.toContain('\u001b');
});

test('what a command would be given besides is shown with it', async () => {
  const { shown, answer } = stage(['n']);
  const additionalPermissions = {
    network: { enabled: true },
    fileSystem: { read: ['/seen\u001b[8m'], write: ['/changed'], entries: [] },
  };
  await answer({ ...QUESTION, additionalPermissions });
  const screen = shown.join('\n');
  for (const wish of ['the network', 'to see /seen', 'to change /changed']) expect(screen).toContain(wish);
  expect(screen).not.toContain('\u001b');
});

test('what is not offered is asked again', async () => {
  const { answer } = stage(['', 's', 'perhaps', 'no']);
  expect(await answer(QUESTION)).toEqual({ decision: 'decline' });
});

test.each([
  ['the input ends', []],
  ['nobody is there', undefined],
  ['the person cancels', ['c']],
])('it is a refusal when %s', async (_why, typed) => {
  const { approvals, answer } = stage(typed);
  expect(await answer(QUESTION)).toEqual({ decision: typed?.[0] === 'c' ? 'cancel' : 'decline' });
  expect(approvals.hasRefused()).toBe(true);
});

test('a question that was answered elsewhere is no refusal of ours', async () => {
  const { approvals, answer } = stage([]);
  const elsewhere = new AbortController();
  elsewhere.abort();
  await answer(QUESTION, elsewhere.signal);
  expect(approvals.hasRefused()).toBe(false);
});

test('one that has not the agreed shape is not answered with yes', async () => {
  const { answer } = stage(['y']);
  await expect(answer({ ...QUESTION, command: undefined })).rejects.toThrow();
});

test('everything fits a narrow terminal', async () => {
  const { shown, answer } = stage(['n'], 24);
  await answer({ ...QUESTION, command: `echo ${'long '.repeat(20)}${'x'.repeat(60)}` });
  for (const line of shown) expect(line.length).toBeLessThanOrEqual(31);
});

test('a change of files is shown whole and harmless, and where a link leads to', async () => {
  const { shown, answerFile } = stage(['s']);
  expect(await answerFile(FILE_QUESTION)).toEqual({ decision: 'acceptForSession' });
  expect(shown.slice(0, -1)).toEqual([
    '',
    'A change of files needs your approval:',
    'new: /project/new',
    '    +hello\\u001b[8m',
    'moved: /project/old to /project/other',
    '    @@ -1 +1 @@',
    '    -a',
    '    +b',
    'the file is really /elsewhere/new',
    'asked because a file lies outside of what the thread may write',
  ]);
});

test('without anybody there no file is changed', async () => {
  const { shown, approvals, answerFile } = stage(undefined);
  expect(await answerFile(FILE_QUESTION)).toEqual({ decision: 'decline' });
  expect(approvals.hasRefused()).toBe(true);
  expect(shown.join()).toContain('nobody is here to ask: new: /project/new, moved: /project/old to /project/other');
});

test.each([
  ['y', { action: 'accept', content: {} }],
  ['s', { action: 'accept', content: {}, _meta: { persist: 'session' } }],
  ['a', { action: 'accept', content: {}, _meta: { persist: 'always' } }],
  ['n', { action: 'decline', content: null }],
  ['c', { action: 'cancel', content: null }],
])('a call of a tool of an MCP server is shown whole; %s is %j', async (typed, expected) => {
  const { shown, answerServer } = stage([typed]);
  expect(await answerServer(TOOL_QUESTION)).toEqual(expected);
  const screen = shown.join('\n');
  for (const part of ['/remove {"id":"T-1"}', 'Removes a ticket', FILE_QUESTION.heddle.rule, 'OUTSIDE the sandbox'])
    expect(screen).toContain(part);
  expect(screen).not.toContain('\u001b');
});

describe('what an MCP server itself asks', () => {
  const FORM = {
    ...SERVER_QUESTION,
    requestedSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', title: 'Your name\u001b[8m', description: 'As on the card', minLength: 2 },
        mail: { type: 'string', format: 'email' },
        when: { type: 'string', format: 'date', default: '2026-01-31' },
        count: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
        price: { type: 'number' },
        gift: { type: 'boolean', default: true },
        size: {
          type: 'string',
          oneOf: [
            { const: 's', title: 'Small' },
            { const: 'l', title: 'Large' },
          ],
        },
        colours: { type: 'array', minItems: 1, items: { type: 'string', enum: ['red', 'green', 'blue'] } },
        extras: {
          type: 'array',
          items: {
            anyOf: [
              { const: 'w', title: 'Wrapping' },
              { const: 'c', title: 'Card' },
            ],
          },
        },
        note: { type: 'string', default: 'none' },
      },
      required: ['name', 'count', 'size', 'colours'],
    },
  };

  test('is filled in field by field, each until it fits, and sent when it was shown once more', async () => {
    const typed = [
      'y',
      ...['', 'A', 'Ann Lee'],
      ...['nobody', 'ann@example.com'],
      ...['31.1.2026', '2026-02-30', ''],
      ...['six', '1.5', '9', '3'],
      ...['1,5', '1.5'],
      ...['maybe', 'n'],
      ...['medium', 'large'],
      ...['red, yellow', '1, blue'],
      '',
      '-',
    ];
    const { shown, approvals, answerServer } = stage([...typed, 'perhaps', 'y']);
    expect(await answerServer(FORM)).toEqual({
      action: 'accept',
      content: {
        ...{ name: 'Ann Lee', mail: 'ann@example.com', when: '2026-01-31', count: 3, price: 1.5, gift: false },
        ...{ size: 'l', colours: ['red', 'blue'] },
      },
    });
    expect(approvals.hasRefused()).toBe(false);
    const screen = shown.join('\n');
    for (const part of [
      'The MCP server tickets\\u001b[8m asks:',
      'Which one?',
      'Your name\\u001b[8m (name): text, at least 2 characters, needed',
      'As on the card',
      'count: a whole number, 1 to 5, needed; suggested: 2',
      '2) Large (l)',
      'it is needed',
      'it has to be an email address',
      'it has to be a date such as 2026-01-31',
      'it has to be at most 5',
      'each has to be one of those that are offered',
      'This would be sent to the server:',
      'gift: no',
      'size: Large',
    ])
      expect(screen).toContain(part);
    expect(screen).not.toContain('\u001b');
  });

  test('can be filled in again, with what was typed as a suggestion', async () => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
    const { shown, answerServer } = stage(['y', 'Ann', 'e', '', 'y']);
    expect(await answerServer({ ...FORM, requestedSchema })).toEqual({ action: 'accept', content: { name: 'Ann' } });
    expect(shown).toContain('name [Ann] (- for nothing): ');
  });

  test.each([
    ['at the first question', ['n'], 'decline'],
    ['at the first question', ['c'], 'cancel'],
    ['after it was filled in', ['y', 'Ann', 'n'], 'decline'],
    ['after it was filled in', ['y', 'Ann', 'c'], 'cancel'],
    ['because nothing more is typed', ['y'], 'decline'],
  ])('is refused %s: %j is %s', async (_, typed, action) => {
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
    const { approvals, answerServer } = stage(typed);
    expect(await answerServer({ ...FORM, requestedSchema })).toEqual({ action, content: null });
    expect(approvals.hasRefused()).toBe(true);
  });

  test('is a plain yes where there is nothing to fill in', async () => {
    const { answerServer } = stage(['y']);
    expect(await answerServer(SERVER_QUESTION)).toEqual({ action: 'accept', content: {} });
  });

  test('is declined without anybody there', async () => {
    const { shown, answerServer } = stage(undefined);
    expect(await answerServer(FORM)).toEqual({ action: 'decline', content: null });
    expect(shown.join('\n')).toContain('nobody is here to ask');
  });

  test('fits a narrow terminal', async () => {
    const { shown, answerServer } = stage(['n'], 24);
    await answerServer(FORM);
    for (const line of shown) expect(line.length).toBeLessThanOrEqual(31);
  });

  test('as an address shows all of it, and where it leads', async () => {
    const { requestedSchema: _, ...question } = FORM;
    const url = 'https://tickets.example@evil.example:8443/a\u202e?next=https://tickets.example';
    const { shown, answerServer } = stage(['y']);
    expect(await answerServer({ ...question, mode: 'url', url, elicitationId: 'e' })).toEqual({
      ...{ action: 'accept', content: {} },
    });
    const screen = shown.join('\n');
    expect(screen).toContain('It leads to evil.example:8443');
    expect(screen).toContain('nothing is opened for you');
    expect(screen).not.toContain('\u202e');
  });
});

test('without anybody to ask a call of a tool is declined, and named', async () => {
  const { shown, approvals, answerServer } = stage(undefined);
  expect(await answerServer(TOOL_QUESTION)).toEqual({ action: 'decline', content: null });
  expect(shown.join('\n')).toMatch(/declined, because nobody is here to ask: .*\/remove/);
  expect(approvals.hasRefused()).toBe(true);
});

test('what is offered for good is offered in words, with the rule that would be kept, and only then', async () => {
  const rule = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['npm', 'run', 'a b\u001b[8m'] } };
  const offered = { ...QUESTION, availableDecisions: ['accept', 'acceptForSession', rule, 'decline', 'cancel'] };
  const { shown, answer } = stage(['always']);
  expect(await answer(offered)).toEqual({ decision: rule });
  expect(shown.slice(-5)).toEqual([
    '[y] yes',
    '[s] yes, for this session',
    "[a] yes, and always what begins with: npm run 'a b\\u001b[8m'",
    '[n] no',
    '[c] no, and stop the turn: ',
  ]);
  const without = stage(['a', 'n']);
  expect(await without.answer(QUESTION)).toEqual({ decision: 'decline' });
  expect(without.shown.join()).not.toContain('always');
});

test('a tool is not offered for longer than its question allows', async () => {
  const { shown, answerServer } = stage(['a', 's', 'y']);
  const once = { ...TOOL_QUESTION, _meta: { ...TOOL_QUESTION._meta, persist: undefined } };
  expect(await answerServer(once)).toEqual({ action: 'accept', content: {} });
  expect(shown.join()).not.toMatch(/session|always/);
});

test('what has lapsed while it waited for its turn is not shown, and what lapses while it is shown is said to', async () => {
  const { shown, answer, approvals } = stage([]);
  const lapsed = AbortSignal.abort();
  expect(await answer(QUESTION, lapsed)).toEqual({ decision: 'decline' });
  expect(shown).toEqual([]);
  const lapsing = new AbortController();
  const asking: Asking = {
    dropTyped: async () => {},
    width: 80,
    apart: (work) => work(),
    prompt: async () => {
      lapsing.abort();
      throw new Error('aborted');
    },
  };
  const output = { show: () => {}, note: (text: string) => void shown.push(text) };
  await createApprovals(output, asking).answers[commandApproval.method]!(QUESTION, lapsing.signal);
  expect(shown.at(-1)).toContain('not asked any more');
  expect(approvals.hasRefused()).toBe(false);
});
