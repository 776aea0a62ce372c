// The codex terminal interface with --remote: stream, approvals, interrupt, quit, resume, and resume after a kill.
import { setTimeout as pause } from 'node:timers/promises';
import { expect, reached, sent } from './steps.mjs';
import { answers, openInterface, quit } from './terminal-interface.mjs';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

export async function interfaceSession(scene, step, terminal) {
  await step('the interface starts', () => openInterface(scene, terminal, '-C', scene.workspace));
  await step('a streamed answer grows on the screen', async () => {
    // The model waits in the middle of its answer.
    await terminal.line('please KWSTREAM KWHOLD');
    await terminal.shows(/w3 /);
    scene.goOn();
    await terminal.shows('w23');
  });
  await step('an approval is accepted and the command runs', async () => {
    await terminal.line('now KWASK made-by-yes');
    await terminal.shows('Would you like to run');
    expect(!scene.exists('made-by-yes'), 'the command ran before it was approved');
    await pause(400);
    terminal.key('y');
    await terminal.shows('Continued: now KWASK made-by-yes');
    expect(scene.exists('made-by-yes'), 'the approved command left no file');
  });
  await step('an approval is declined and the command does not run', async () => {
    const before = sent(scene, 'turn/completed');
    await terminal.line('again KWASK made-by-no');
    await terminal.shows(/again KWASK made-by-no[\s\S]*Would you like to run/);
    await pause(400);
    terminal.key('Escape');
    await reached(() => sent(scene, 'turn/completed') > before, 'the turn did not complete after the refusal');
    await terminal.shows(/again KWASK made-by-no[\s\S]*interrupted/i);
    expect(!scene.exists('made-by-no'), 'the declined command ran');
  });
  await step('a turn is interrupted', async () => {
    await terminal.line('then KWSLOW');
    await terminal.shows(/then KWSLOW[\s\S]*w5 /);
    const before = sent(scene, 'turn/completed');
    terminal.key('Escape');
    await terminal.shows(/then KWSLOW[\s\S]*interrupted/i);
    await reached(() => sent(scene, 'turn/completed') > before, 'the turn did not complete after the interrupt');
  });
  const threadId = await step('it quits and names the thread', async () => {
    const screen = await quit(terminal);
    const found = UUID.exec(screen.slice(screen.lastIndexOf('resume')));
    expect(found, `no thread id on the screen:\n${screen}`);
    return found[0];
  });
  await step('resume shows the history, and the thread goes on', async () => {
    await openInterface(scene, terminal, 'resume', threadId);
    await terminal.shows(/please KWSTREAM[\s\S]*w23[\s\S]*Continued: now KWASK made-by-yes/);
    await terminal.line('after the resume');
    await terminal.shows('Reply to: after the resume');
    await quit(terminal);
  });
  await step('when the server is killed it connects again by itself', async () => {
    await openInterface(scene, terminal, 'resume', threadId);
    const resumed = answers(scene, 'thread/resume');
    await scene.killAndRestart(() => terminal.shows(/Reconnecting/i));
    await reached(() => answers(scene, 'thread/resume') > resumed, 'the thread was not resumed again');
    await terminal.line('are you back');
    await terminal.shows('Reply to: are you back');
    await quit(terminal);
  });
  await step('a wrong token ends it with 401', async () => {
    const variable = 'WRONG_TOKEN';
    const remote = ['--remote', scene.relay.url, '--remote-auth-token-env', variable];
    terminal.open(['env', `${variable}=not-the-token`, scene.codex, ...remote], scene.workspace);
    await terminal.shows(/401 Unauthorized[\s\S]*ENDED 1/);
  });
  await step('after kill -9 and a restart, resume shows the history again', async () => {
    await scene.killAndRestart();
    await openInterface(scene, terminal, 'resume', threadId);
    // It asks for the last five turns.
    await terminal.shows(
      /Continued: now KWASK made-by-yes[\s\S]*Reply to: after the resume[\s\S]*Reply to: are you back/,
    );
    await terminal.line('after the restart');
    await terminal.shows('Reply to: after the restart');
    await quit(terminal);
  });
}
