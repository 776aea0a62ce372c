// Steps of a client session: run in order, timed, and told with all that helps when one fails.
import { setTimeout as pause } from 'node:timers/promises';

/** Steps in order. One that fails ends its session: the next ones build on it. */
export class Steps {
  #scene;
  #terminal;
  #print;

  /** `print` takes each line of what there is to tell. */
  constructor(scene, terminal, print) {
    this.#scene = scene;
    this.#terminal = terminal;
    this.#print = print;
  }

  /** Whether the session worked, and what it did. */
  async session(name, work) {
    const steps = [];
    this.#print(`\n== ${name}`);
    try {
      await work(this.#scene, (label, step) => this.#step(label, step, steps), this.#terminal);
      return { worked: true, steps };
    } catch (error) {
      this.#print(`FAILED ${error.step ?? name}: ${error.message}`);
      const screen = error.screen ?? this.#screen();
      if (screen) this.#print(block('the screen', screen));
      this.#print(block('the last messages', tail(this.#scene.relay.entries)));
      this.#print(block('the server wrote', this.#scene.serverOutput().slice(-3_000) || '(nothing)'));
      return { worked: false, steps: [...steps, `~~${error.step ?? name}~~`] };
    } finally {
      this.#terminal.close();
    }
  }

  async #step(label, work, steps) {
    const started = Date.now();
    try {
      const result = await work();
      this.#print(`ok     ${label} (${Date.now() - started} ms)`);
      steps.push(label);
      return result;
    } catch (error) {
      error.step = label;
      throw error;
    }
  }

  #screen() {
    try {
      return this.#terminal.text();
    } catch {
      return undefined;
    }
  }
}

const block = (title, text) => `---- ${title}\n${text.replace(/^/gm, '     | ')}\n----`;

const tail = (entries) =>
  entries
    .slice(-12)
    .map(
      (entry) =>
        `${entry.conn} ${entry.from === 'server' ? '<-' : '->'} ${(entry.raw ?? JSON.stringify(entry.message)).slice(0, 300)}`,
    )
    .join('\n');

export function expect(condition, message) {
  if (!condition) throw new Error(message);
}

/** How often the server has sent this notification so far. */
export const sent = (scene, method) =>
  scene.relay.entries.filter((entry) => entry.from === 'server' && entry.message?.method === method).length;

/** Resolves once `test()` is true; what it throws ends the wait. */
export async function reached(test, message, limit = 120_000) {
  for (const end = Date.now() + limit; !test(); ) {
    expect(Date.now() < end, `${message} within ${limit} ms`);
    await pause(100);
  }
}
