// Clients that are replayed: from a recording, or by what is known of how each begins, calls, answers and ends.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { planMode } from '../kit/steps.mjs';
import { BROUGHT_ABOUT_BY, CONSENT, LAST, PARAMS, REFUSED, WITH_TURNS } from './params.mjs';
import { MODEL } from './stage.mjs';

/** Per client: the methods that it calls, the questions that it answers, the notifications that it acts on. */
const USES = JSON.parse(readFileSync(new URL('uses.json', import.meta.url), 'utf8'));
const LOOKUP = {
  type: 'function',
  name: 'lookup_ticket',
  description: 'Look up a ticket',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
};

/** Notifications that a turn with reasoning, a command, a patch and a plan must bring. */
const BROUGHT = new Set([
  ...['turn/started', 'turn/completed', 'turn/plan/updated', 'turn/diff/updated', 'thread/tokenUsage/updated'],
  ...['item/started', 'item/completed', 'item/agentMessage/delta', 'item/commandExecution/outputDelta'],
  ...['item/reasoning/summaryTextDelta', 'item/reasoning/summaryPartAdded', 'thread/started', 'thread/status/changed'],
]);

export function expect(condition, message) {
  if (!condition) throw new Error(message);
}

/** A client in a session with one thread, as one that knows what it uses works. */
export class Replayed {
  #peer;
  #uses;
  #stage;
  threadId;

  constructor(name, peer, stage) {
    this.#uses = USES[name];
    this.#peer = peer;
    this.#stage = stage;
  }

  /** The shapes of the handshake differ: `capabilities` may be missing, and `initialized` may never come. */
  async begin({ capabilities = { experimentalApi: true }, initialized = true, clientInfo, thread = {}, id } = {}) {
    const params = { clientInfo: clientInfo ?? { name: 'client', version: '1.0.0' } };
    if (capabilities !== null) params.capabilities = capabilities;
    const answer = await this.#peer.request('initialize', params, id === undefined ? {} : { id });
    expect(answer?.result, `initialize was not answered: ${JSON.stringify(answer)}`);
    if (initialized) this.#peer.notify('initialized');
    const cwd = this.#stage.workspace;
    const tools = this.#uses.questions.includes('item/tool/call') ? { dynamicTools: [LOOKUP] } : {};
    const started = await this.#peer.request('thread/start', {
      cwd,
      approvalPolicy: 'on-request',
      ...tools,
      ...thread,
    });
    expect(started?.result, `thread/start was refused: ${JSON.stringify(started?.error)}`);
    this.threadId = started.result.thread.id;
    return answer.result;
  }

  async turn(text, extra = {}) {
    const { answer, completed } = await this.#peer.turn(this.threadId, text, extra);
    expect(completed, `the turn did not complete: ${JSON.stringify(answer)}`);
    return completed.params.turn;
  }

  /** A running turn, once something of it has been heard. */
  async slowTurn() {
    const heard = this.#peer.next('item/agentMessage/delta');
    const answer = await this.#peer.startTurn(this.threadId, 'now KWSLOW');
    expect(answer?.result, `turn/start was refused: ${JSON.stringify(answer)}`);
    expect(await heard, 'the turn says nothing');
    return answer.result.turn.id;
  }

  async interrupt(turnId) {
    const over = this.#peer.next('turn/completed');
    const answer = await this.#peer.request('turn/interrupt', { threadId: this.threadId, turnId });
    expect(answer?.result, `the interrupt was refused: ${JSON.stringify(answer)}`);
    expect((await over)?.params.turn.status === 'interrupted', 'the turn did not end as interrupted');
  }

  /** Every notification that the client acts on and that such a turn must bring has come. */
  async notifications() {
    for (const text of ['KWTHINK KWRUN', 'KWPLAN', 'KWESC', 'KWPATCH']) await this.#consenting(() => this.turn(text));
    const seen = new Set(this.#peer.messages.map(({ method }) => method));
    const missing = this.#uses.notifications.filter((method) => BROUGHT.has(method) && !seen.has(method));
    expect(missing.length === 0, `never came: ${missing.join(', ')}`);
  }

  async #consenting(work) {
    for (const [method, reply] of Object.entries(CONSENT))
      this.#peer.answer(method, ({ params }) => ({ result: reply(params) }));
    await work();
    for (const method of Object.keys(CONSENT)) this.#peer.answer(method, undefined);
  }

  /** Each kind of question that the client answers is asked, answered as it does, and told to be over. */
  async questions() {
    for (const method of this.#uses.questions.filter((each) => each in CONSENT)) {
      const before = this.#peer.messages.length;
      // People are asked in plan mode only.
      const extra = method === 'item/tool/requestUserInput' ? planMode(MODEL) : {};
      await this.#consenting(() => this.turn(BROUGHT_ABOUT_BY[method], extra));
      const since = this.#peer.messages.slice(before);
      const question = since.find((message) => message.method === method);
      expect(question, `${method} was not asked`);
      const over = since.filter((m) => m.method === 'serverRequest/resolved' && m.params.requestId === question.id);
      // Calls of the client's own tools end with their item, as with the reference.
      const times = method === 'item/tool/call' ? 0 : 1;
      expect(over.length === times, `${method} ended ${over.length} times`);
    }
  }

  /** Every method that the client calls gives a result, or says that it is not supported, and why. */
  async methods() {
    const refused = [];
    const methods = this.#uses.requests.filter((method) => !WITH_TURNS.has(method));
    const last = LAST.filter((method) => methods.includes(method));
    for (const method of [...methods.filter((each) => !LAST.includes(each)), ...last]) {
      expect(method in PARAMS, `there are no params for ${method}`);
      const params = PARAMS[method]({ threadId: this.threadId, workspace: this.#stage.workspace });
      const answer = await this.#peer.request(method, params);
      expect(answer, `${method} was not answered`);
      if (answer.result !== undefined || REFUSED[method]?.test(answer.error.message)) continue;
      const { code, data, message } = answer.error;
      expect(code === -32601 && data?.kind === 'unsupported' && data.reason, `${method}: ${code} ${message}`);
      refused.push(method);
    }
    return refused;
  }

  /** Compaction and review, which are turns of their own. */
  async turnMethods() {
    for (const [method, params] of [
      ['thread/compact/start', {}],
      ['review/start', { target: { type: 'uncommittedChanges' }, delivery: 'inline' }],
    ]) {
      if (!this.#uses.requests.includes(method)) continue;
      const over = this.#peer.next('turn/completed');
      const answer = await this.#peer.request(method, { threadId: this.threadId, ...params });
      expect(answer?.result && (await over), `${method}: ${JSON.stringify(answer)}`);
    }
  }
}

/** Ends a client's program as the client does, and says how it went. */
export async function leave(peer, { signalAfterMs } = {}) {
  const started = Date.now();
  peer.wire.child.stdin.end();
  if (signalAfterMs !== undefined) {
    await pause(signalAfterMs);
    peer.wire.child.kill('SIGTERM');
  }
  const exit = await Promise.race([peer.wire.ended, pause(30_000)]);
  if (!exit) peer.wire.child.kill('SIGKILL');
  return { exit, tookMs: Date.now() - started };
}
