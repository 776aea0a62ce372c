// What every session of the terminal interface does: open it on a thread, and leave it.
import { setTimeout as pause } from 'node:timers/promises';
import { expect, reached } from './steps.mjs';

/** How often the server has answered this method so far. */
export const answers = (scene, method) =>
  scene.relay.entries.filter((entry) => entry.from === 'server' && entry.answers?.method === method).length;

/** How often a client has asked for this method so far. */
export const asked = (scene, method) =>
  scene.relay.entries.filter((entry) => entry.from === 'client' && entry.message?.method === method).length;

/** Starts the interface and answers what it may ask before it opens its thread: for trust, and whether to try another model. */
export async function openInterface(scene, terminal, ...args) {
  const method = args[0] === 'resume' ? 'thread/resume' : 'thread/start';
  const before = answers(scene, method);
  terminal.open([scene.codex, ...scene.remote, ...args], scene.workspace);
  const given = new Set();
  await reached(() => {
    const screen = terminal.text();
    expect(!screen.includes('ENDED'), 'the interface ended at once');
    const dialog = ['Use existing model', 'Do you trust'].find((words) => screen.includes(words) && !given.has(words));
    if (dialog === 'Use existing model') terminal.key('2');
    else if (dialog) terminal.key('Enter');
    if (dialog) given.add(dialog);
    return answers(scene, method) > before;
  }, `there was no answer to ${method}`);
  await pause(1_500);
}

export async function quit(terminal) {
  // What an interrupt puts back into the input line is cleared first.
  terminal.key('C-u');
  await pause(300);
  await terminal.line('/quit');
  return terminal.shows('ENDED 0');
}
