// One session for each client that is replayed: its steps, named by the fact that they hold.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, leave, Replayed } from './clients.mjs';
import { play, readScript } from './player.mjs';

const VERSION = /^codex-cli (\d+)\.(\d+)\.(\d+)\n?$/;
const UUIDS = ['initialize', '5a0e63f8-2c35-4a1c-9a38-1f1d0b8f2c11', 0, 'req-1', 7];
const recording = (name) => path.join(path.dirname(fileURLToPath(import.meta.url)), 'recordings', `${name}.jsonl`);

function atLeast(stage, minor) {
  const { status, stdout } = stage.run('--version');
  const [, major, found] = VERSION.exec(stdout) ?? [];
  expect(status === 0 && (Number(major) > 0 || Number(found) >= minor), `--version says ${JSON.stringify(stdout)}`);
}

/** `limit`: after that many milliseconds the client would kill it, on a machine that has the time. */
const endsWell = ({ exit, tookMs }, limit) =>
  expect(
    exit?.code === 0 && (tookMs < limit || tookMs < limit * slowness()),
    `it ended with ${JSON.stringify(exit)} after ${tookMs} ms`,
  );

/** What a start of Node takes where nothing else runs, in milliseconds: the slower one of what is tested on. */
const START_MS = 60;

/** How many times longer everything takes now. */
function slowness() {
  const began = Date.now();
  for (let count = 0; count < 5; count += 1) spawnSync(process.execPath, ['-e', '0']);
  return (Date.now() - began) / 5 / START_MS;
}

/** Everything that a client was recorded to do, in order; every answer is held against what the reference gave. */
async function recorded(name, stage, step, { limit, improved = [] }) {
  for (const run of readScript(recording(name))) {
    await step(`\`${run.argv.join(' ')}\` as recorded`, async () => {
      const before = stage.record.entries.length;
      const outcome = await play(run, stage, stage.record);
      endsWell(outcome, limit);
      if (outcome.text !== undefined) expect(outcome.text.length > 0, 'it says nothing');
      const errors = stage.record.entries
        .slice(before)
        .filter(({ from, message }) => from === 'server' && message?.error)
        .map(({ answers, message }) => `${answers?.method}: ${message.error.message}`);
      expect(errors.length === 0, `refused: ${errors.join('; ')}`);
      for (const method of improved.filter((each) => run.acts.some(({ send }) => send?.method === each)))
        expect(
          stage.record.entries.some(({ answers, message }) => answers?.method === method && message.result),
          method,
        );
    });
  }
}

async function codexPluginCc(stage, step) {
  await step('--version and --help, exit code 0', () => {
    atLeast(stage, 0);
    expect(stage.run('app-server', '--help').status === 0, '--help does not end with 0');
  });
  await recorded('codex-plugin-cc', stage, step, { limit: 2_000 });
  await step('the four deltas that it opts out of never come', () => {
    const wanted = stage.record.entries.filter(({ message }) =>
      /Delta$|\/delta$|PartAdded$/.test(message?.method ?? ''),
    );
    const unwanted = wanted.filter(({ message }) => /agentMessage|reasoning/.test(message.method));
    expect(unwanted.length === 0, `it was sent ${unwanted[0]?.message.method}`);
  });
  await step('SIGTERM 50 ms after the end of input', async () => {
    const peer = stage.spawn('app-server');
    expect((await peer.initialize()).result, 'no handshake');
    endsWell(await leave(peer, { signalAfterMs: 50 }), 2_000);
  });
  await step('-32601 for what is not there, with the words "unknown method"', async () => {
    const peer = stage.spawn('app-server');
    await peer.initialize();
    for (const method of ['externalAgentConfig/import', 'thread/nothing']) {
      const { error } = await peer.request(method, {});
      expect(error.code === -32601 && error.message.includes('unknown method'), `${method}: ${JSON.stringify(error)}`);
    }
    await leave(peer);
  });
  await step('-32601 as the answer to a question is a refusal', async () => {
    const peer = stage.spawn('app-server');
    const client = new Replayed('hermes', peer, stage);
    await client.begin();
    peer.answer('item/commandExecution/requestApproval', { error: { code: -32601, message: 'Unsupported' } });
    await client.turn('please KWESC');
    const items = peer.messages.filter(({ method, params }) => method === 'item/completed' && params.item.command);
    expect(items.at(-1)?.params.item.status === 'declined', `the command is ${items.at(-1)?.params.item.status}`);
    await leave(peer);
  });
}

async function t3Code(stage, step) {
  await recorded('t3code', stage, step, { limit: 2_000, improved: ['thread/rollback'] });
  const peer = stage.spawn('app-server');
  const client = new Replayed('codexmonitor', peer, stage);
  await step('the version in userAgent', async () => {
    const { userAgent, codexHome } = await client.begin({ clientInfo: { name: 't3code_desktop', version: '0.1.0' } });
    expect(/^t3code_desktop\/\d+\.\d+\.\d+ /.test(userAgent), `the user agent is ${userAgent}`);
    expect(typeof codexHome === 'string', 'codexHome is missing');
  });
  await step('a history of every kind of item it knows', async () => {
    await client.notifications();
    await client.turnMethods();
    const { thread } = (await peer.request('thread/read', { threadId: client.threadId, includeTurns: true })).result;
    expect(typeof thread.sessionId === 'string', 'thread.sessionId is missing');
    const kinds = new Set(thread.turns.flatMap(({ items }) => items.map(({ type }) => type)));
    for (const kind of ['userMessage', 'reasoning', 'commandExecution', 'fileChange', 'agentMessage'])
      expect(kinds.has(kind), `the history has no ${kind}: ${[...kinds]}`);
  });
  await step('a thread that is not there: "no rollout found" or "not found"', async () => {
    const threadId = '019b0000-0000-7000-8000-00000000dead';
    for (const method of ['thread/resume', 'thread/read', 'turn/start']) {
      const { error } = await peer.request(method, { threadId, input: [{ type: 'text', text: 'x' }] });
      expect(/no rollout found|not found/.test(error?.message), `${method}: ${JSON.stringify(error)}`);
    }
  });
  await step('ends before it is killed after 2 s', async () => endsWell(await leave(peer), 2_000));
}

/** What all of them do that work from what is known of them: the whole of what they call, answer and act on. */
async function known(client, step) {
  await step('what it acts on comes', () => client.notifications());
  await step('questions asked, answered and over', () => client.questions());
  await step('compaction and review', () => client.turnMethods());
  await step('its methods', async () => {
    const refused = await client.methods();
    return refused.length === 0 ? undefined : `not supported, and said so: ${refused.join(', ')}`;
  });
}

async function openClaw(stage, step) {
  const peer = await stage.connect('ws');
  const client = new Replayed('openclaw', peer, stage);
  await step('bearer header, and a version of at least 0.143', async () => {
    const { userAgent } = await client.begin({ clientInfo: { name: 'openclaw', version: '2026.7.1' } });
    expect(Number(/\/0\.(\d+)\./.exec(userAgent)?.[1]) >= 143, `the user agent is ${userAgent}`);
  });
  await step('pings get pongs, also in mid-turn', async () => {
    const turnId = await client.slowTurn();
    const ponged = new Promise((resolve) => peer.wire.socket.once('pong', (data) => resolve(data.toString())));
    peer.wire.socket.ping('are you there');
    expect((await ponged) === 'are you there', 'the pong brought other bytes');
    await client.interrupt(turnId);
  });
  await step('steer', () => steered(client, peer));
  await known(client, step);
  await peer.wire.close();
  await stage.stopServers();
  await step('the Unix socket', async () => {
    const other = await stage.connect('unix');
    await new Replayed('openclaw', other, stage).begin();
    await other.wire.close();
  });
}

async function steered(client, peer) {
  const turnId = await client.slowTurn();
  const over = peer.next('turn/completed');
  const input = [{ type: 'text', text: 'go left' }];
  const answer = await peer.request('turn/steer', { threadId: client.threadId, expectedTurnId: turnId, input });
  expect(answer?.result?.turnId === turnId, `the steer was refused: ${JSON.stringify(answer)}`);
  expect((await over)?.params.turn.status === 'completed', 'the steered turn did not complete');
}

async function codexMonitor(stage, step) {
  await step('--version', () => atLeast(stage, 0));
  const peer = stage.spawn('app-server');
  const client = new Replayed('codexmonitor', peer, stage);
  await step('app-server', () =>
    client.begin({ clientInfo: { name: 'codex_monitor', title: 'Codex Monitor', version: '0.7.0' } }),
  );
  await step('interrupt', async () => client.interrupt(await client.slowTurn()));
  await known(client, step);
  await step('leaves', async () => endsWell(await leave(peer), 2_000));
}

async function codexapp(stage, step) {
  const peer = stage.spawn('app-server', '-c', 'model_reasoning_effort="low"', '-c', 'sandbox_mode="workspace-write"');
  const client = new Replayed('codexapp', peer, stage);
  await step('-c after the command', async () => {
    await client.begin({ clientInfo: { name: 'codexapp', version: '0.1.0' } });
    const { config } = (await peer.request('config/read', {})).result;
    expect(config.model_reasoning_effort === 'low', `the effort is ${config.model_reasoning_effort}`);
  });
  await step('interrupt', async () => client.interrupt(await client.slowTurn()));
  await known(client, step);
  await step('leaves', async () => endsWell(await leave(peer), 2_000));
}

async function remodex(stage, step) {
  const peer = await stage.connect('ws');
  const client = new Replayed('remodex', peer, stage);
  await step('a WebSocket endpoint', () => client.begin({ clientInfo: { name: 'remodex_ios', version: '1.4.0' } }));
  await step('steer', () => steered(client, peer));
  await known(client, step);
  await peer.wire.close();
}

async function pythonSdk(stage, step) {
  const peer = stage.spawn('--config', 'model_reasoning_effort="low"', 'app-server', '--listen', 'stdio://');
  const client = new Replayed('python-sdk', peer, stage);
  await step('--config before the command', async () => {
    await client.begin({ clientInfo: { name: 'codex_python_sdk', version: '0.1.0' } });
    const { config } = (await peer.request('config/read', {})).result;
    expect(config.model_reasoning_effort === 'low', `the effort is ${config.model_reasoning_effort}`);
  });
  await step('"expected active turn id … but found …"', async () => {
    const turnId = await client.slowTurn();
    const wrong = '019b0000-0000-7000-8000-00000000dead';
    const { error } = await peer.request('turn/interrupt', { threadId: client.threadId, turnId: wrong });
    expect(
      /^expected active turn id/.test(error?.message) && error.message.endsWith(`but found ${turnId}`),
      error?.message,
    );
    await client.interrupt(turnId);
  });
  await known(client, step);
  await step('ends in mid-turn before it is killed after 2 s', async () => {
    const other = stage.spawn('app-server', '--listen', 'stdio://');
    const busy = new Replayed('python-sdk', other, stage);
    await busy.begin();
    await busy.slowTurn();
    endsWell(await leave(other), 2_000);
    endsWell(await leave(peer), 2_000);
  });
}

async function hermes(stage, step) {
  await step('--version is at least 0.125', () => atLeast(stage, 125));
  const peer = stage.spawn('app-server');
  const client = new Replayed('hermes', peer, stage);
  await step('app-server', () =>
    client.begin({ clientInfo: { name: 'hermes', title: 'Hermes Agent', version: '0.9.0' } }),
  );
  await step('steer', () => steered(client, peer));
  await known(client, step);
  await step('ends before it is killed after 3 s', async () => endsWell(await leave(peer), 3_000));
}

async function symphony(stage, step) {
  const peer = stage.spawn('--config', 'shell_environment_policy.inherit=all', 'app-server');
  const client = new Replayed('symphony', peer, stage);
  await step('a shell line with --config, and tools of its own', () =>
    client.begin({ clientInfo: { name: 'symphony-orchestrator', title: 'Symphony', version: '0.1.0' } }),
  );
  await known(client, step);
  await step('leaves', async () => endsWell(await leave(peer), 2_000));
}

async function codexNvim(stage, step) {
  const peer = stage.spawn('app-server');
  const client = new Replayed('codex.nvim', peer, stage);
  await step('initialize without capabilities', () => client.begin({ capabilities: null }));
  await step('interrupt', async () => client.interrupt(await client.slowTurn()));
  await known(client, step);
  await step('leaves', async () => endsWell(await leave(peer), 2_000));
}

/** What several of them do in their own way; the names say who. */
async function habits(stage, step) {
  const peer = stage.spawn('app-server');
  const client = new Replayed('hermes', peer, stage);
  await step('codex-acp: no `initialized`, first id 0', () => client.begin({ initialized: false, id: 0 }));
  await step('terminal interface: ids of both types on one connection', async () => {
    for (const id of UUIDS) {
      const answer = await peer.request('account/read', {}, { id });
      expect(answer?.result && answer.id === id, `id ${JSON.stringify(id)}: ${JSON.stringify(answer)}`);
    }
  });
  await step('terminal interface: params missing, empty, and filled with null', async () => {
    for (const [method, params] of [
      ['configRequirements/read', undefined],
      ['account/read', {}],
      ['model/list', { modelProvider: null, cursor: null, limit: null, includeHidden: null }],
      [
        'thread/list',
        { cursor: null, limit: null, sortKey: null, sortDirection: null, modelProviders: null, cwd: null },
      ],
    ]) {
      const answer = await peer.request(method, params);
      expect(answer?.result, `${method}: ${JSON.stringify(answer?.error)}`);
    }
  });
  await step('happy, Symphony: removed members are ignored', async () => {
    const removed = {
      persistExtendedHistory: true,
      experimentalRawEvents: false,
      profile: null,
      includeApplyPatchTool: null,
    };
    const started = await peer.request('thread/start', { cwd: stage.workspace, compactPrompt: null, ...removed });
    expect(started?.result, JSON.stringify(started?.error));
    const turn = await peer.turn(started.result.thread.id, 'hello', { title: 'A title', summary: null });
    expect(turn.completed, JSON.stringify(turn.answer?.error));
  });
  await step('happy: jsonrpc on every message, as on its own', async () => {
    const other = stage.spawn('app-server', '--listen', 'stdio://');
    const params = { clientInfo: { name: 'happy-codex', version: '1.2.5' }, capabilities: { experimentalApi: true } };
    await other.request('initialize', params, { rest: { jsonrpc: '2.0' } });
    other.send({ jsonrpc: '2.0', method: 'initialized' });
    const { result } = await other.request('thread/start', { cwd: stage.workspace }, { rest: { jsonrpc: '2.0' } });
    await other.turn(result.thread.id, 'hello');
    const bare = other.messages.filter(({ jsonrpc }) => jsonrpc !== '2.0');
    expect(bare.length === 0, `without it: ${bare[0]?.method ?? 'an answer'}`);
    await leave(other);
  });
  await step('ends at the end of input', async () => endsWell(await leave(peer), 2_000));
}

/** `by`: what is replayed, and of which version of the client. */
export const SESSIONS = [
  { name: 'codex-plugin-cc', version: '1.0.5', by: 'recording', patchFolder: '', work: codexPluginCc },
  { name: 'T3 Code (its client library)', version: 'July 2026', by: 'recording', work: t3Code },
  { name: 'OpenClaw', version: '2026', by: 'facts', work: openClaw },
  { name: 'CodexMonitor', version: 'March 2026', by: 'facts', work: codexMonitor },
  { name: 'codexapp', version: 'May 2026', by: 'facts', work: codexapp },
  { name: 'Remodex', version: 'May 2026', by: 'facts', work: remodex },
  { name: 'Python SDK (openai_codex)', version: '2026', by: 'facts', work: pythonSdk },
  { name: 'Hermes', version: '2026', by: 'facts', work: hermes },
  { name: 'Symphony', version: '2026', by: 'facts', work: symphony },
  { name: 'codex.nvim', version: '2026', by: 'facts', work: codexNvim },
  { name: 'habits of several', version: '', by: 'facts', work: habits },
];
