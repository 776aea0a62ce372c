// The commands of the codex terminal interface with --remote, one after the other, and what the screen shows of each.
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, reached, sent } from './steps.mjs';
import { answers, asked, openInterface, quit } from './terminal-interface.mjs';

export async function screensSession(scene, step, terminal) {
  const { line, leave } = keys(terminal);
  await step('start', () => openInterface(scene, terminal, '-C', scene.workspace));
  await step('prompt', () => line('hello there', 'Reply to: hello there'));
  await step('/status', async () => {
    const screen = await line('/status', /Token usage: +\d+ total/);
    for (const words of ['Model provider:', 'scripted', scene.workspace])
      expect(screen.includes(words), `the status lacks ${words}`);
  });
  await step('/mcp', async () => {
    await line('/mcp', 'demo: connected (6 tools)');
    await line('/mcp verbose', 'Tools: ask, echo, fail, slow, throw, write');
  });
  await step('tool of an MCP server', async () => {
    await line('call KWMCP please', /demo\.echo[\s\S]*echo: from the model[\s\S]*Continued: call KWMCP/);
  });
  await step('question of an MCP server', async () => {
    await line('call KWFORM please', 'Allow the demo MCP server to run tool "ask"?');
    await pause(400);
    terminal.key('Enter');
    await terminal.shows(/Server: demo[\s\S]*What is your name\?/);
    await pause(400);
    terminal.key('Escape');
    await terminal.shows(/"action":"(?:decline|cancel)"[\s\S]*Continued: call KWFORM/);
  });
  await step('/skills', async () => {
    await line('/skills', 'List skills');
    terminal.key('Enter');
    await terminal.shows('How people are greeted here');
    await leave('How people are greeted here');
    terminal.key('C-u');
  });
  await wholeThread(scene, step, terminal);
  await modes(scene, step, terminal);
  await otherThreads(step, terminal);
  // Last: with other permissions than it was started with, the interface does not resume.
  await filesAndCommands(scene, step, terminal);
  await leaving(scene, step, terminal);
}

/** What is typed, and what the screen shows then. */
function keys(terminal) {
  return {
    async line(text, shown) {
      await terminal.line(text);
      return terminal.shows(shown);
    },
    /** Closes what shows `words`. */
    async leave(words) {
      terminal.key('Escape');
      await reached(() => !terminal.visible().includes(words), `the screen still shows ${words}`);
    },
  };
}

async function filesAndCommands(scene, step, terminal) {
  const { line } = keys(terminal);
  const permissions = async (choice) => {
    const before = sent(scene, 'thread/settings/updated');
    await line('/permissions', 'Update Model Permissions');
    await pause(300);
    terminal.key(choice);
    await reached(() => sent(scene, 'thread/settings/updated') > before, 'the permissions did not change');
  };
  await step('/permissions', async () => {
    await permissions('4');
    await terminal.shows('Read Only');
  });
  await step('file approval', async () => {
    await line('write KWPATCH written-by-yes', /Would you like to make the following edits/);
    expect(!scene.exists('written-by-yes'), 'the file was written before it was approved');
    await pause(400);
    terminal.key('y');
    await terminal.shows('Continued: write KWPATCH written-by-yes');
    expect(scene.exists('written-by-yes'), 'the approved patch left no file');
  });
  await step('file refusal', async () => {
    const before = sent(scene, 'turn/completed');
    await line('next KWPATCH written-by-no', /written-by-no[\s\S]*Would you like to make the following edits/);
    await pause(400);
    terminal.key('Escape');
    await reached(() => sent(scene, 'turn/completed') > before, 'the turn did not complete after the refusal');
    await terminal.shows(/written-by-no[\s\S]*interrupted/i);
    expect(!scene.exists('written-by-no'), 'the declined patch was applied');
    terminal.key('C-u');
    await permissions('1');
  });
  await step('!command', async () => {
    await line('!echo from-the-$((40 + 2))', 'from-the-42');
    expect(asked(scene, 'thread/shellCommand') === 1, 'it was not the server that ran it');
  });
  await step('/diff', async () => {
    fs.writeFileSync(path.join(scene.workspace, 'tracked.txt'), 'as it became\n');
    await line('/diff', /-as it was[\s\S]*\+as it became/);
    terminal.key('q');
    await reached(() => !terminal.visible().includes('as it became'), 'the difference stays');
  });
}

async function wholeThread(scene, step, terminal) {
  const { line } = keys(terminal);
  await step('steer', async () => {
    await line('begin KWSLOW', /begin KWSLOW[\s\S]*w3 /);
    await line('turn to the left', 'Reply to: turn to the left');
    expect(answers(scene, 'turn/steer') === 1, 'the turn was not steered');
  });
  await step('queued message', async () => {
    await line('then KWSTREAM', /then KWSTREAM[\s\S]*w3 /);
    const turns = asked(scene, 'turn/start');
    terminal.type('after that');
    await terminal.shows('after that');
    await pause(400);
    terminal.key('Tab');
    await terminal.shows('Reply to: after that');
    expect(asked(scene, 'turn/start') === turns + 1, 'it was not a turn of its own');
  });
  await step('/compact', () => line('/compact', 'Context compacted'));
  await step('/rename', async () => {
    await line('/rename a-thread-of-tests', /· a-thread-of-tests/);
    expect(sent(scene, 'thread/name/updated') > 0, 'nobody was told of the name');
  });
}

async function modes(scene, step, terminal) {
  const { line } = keys(terminal);
  await step('/model', async () => {
    await line('/model', 'Select Model');
    terminal.key('Enter');
    await terminal.shows('Select Reasoning Level');
    terminal.key('4');
    await terminal.shows(/Model changed to .* high/);
    await line('think hard', 'Reply to: think hard');
    const { reasoning } = scene.model.requests.findLast(({ userTexts }) => userTexts.at(-1) === 'think hard').body;
    expect(reasoning?.effort === 'high', `the model was asked with ${JSON.stringify(reasoning)}`);
  });
  await step('/plan and a question', async () => {
    await line('/plan', 'Plan mode');
    await line('please KWQUESTION', 'Which colour shall it be?');
    await pause(400);
    terminal.key('Down', 'Enter');
    await terminal.shows(/answer: Blue[\s\S]*Continued: please KWQUESTION/);
    expect(
      scene.model.requests.some(({ toolOutput }) => toolOutput.includes('Blue')),
      'the model never got the answer',
    );
  });
  await step('/goal', async () => {
    await line('/goal finish the demo', /Goal active.*finish the demo/);
    await line('/goal', /Status: active[\s\S]*Objective: finish the demo/);
    await line('/goal clear', /Goal cleared/i);
    terminal.key('BTab');
    await reached(() => !terminal.visible().includes('Plan mode ('), 'plan mode stays');
  });
  await step('/review', async () => {
    await line('/review', 'Review uncommitted changes');
    await pause(300);
    terminal.key('2');
    await terminal.shows(/Code review started[\s\S]*Code review finished/);
  });
  for (const [command, shown] of [
    ['/plugins', /Installed 0 of \d+ available plugins/],
    ['/hooks', 'Lifecycle hooks from config'],
    ['/experimental', 'Experimental features'],
  ])
    await step(command, async () => {
      await line(command, shown);
      await keys(terminal).leave('esc');
    });
}

async function otherThreads(step, terminal) {
  const { line } = keys(terminal);
  await step('/fork', () => line('/fork', 'Fork created'));
  await step('/side', async () => {
    await line('/side and aside', 'Reply to: and aside');
    terminal.key('C-c');
    await reached(() => !terminal.visible().includes('Ask a follow-up'), 'the side conversation stays');
  });
  await step('/new', async () => {
    await line('/new', 'Ask Codex');
    await line('another thread', 'Reply to: another thread');
  });
  await step('/init', () => line('/init', 'Reply to: Generate a file named AGENTS.md'));
  await step('/resume', async () => {
    await line('/resume', /Resume a previous session[\s\S]*a-thread-of-tests/);
    await pause(300);
    terminal.type('a-thread-of-tests');
    await pause(1_000);
    terminal.key('Enter');
    await terminal.shows(/Reply to: after that[\s\S]*Reply to: think hard/);
  });
}

async function leaving(scene, step, terminal) {
  await step('/quit', () => quit(terminal));
  await step('agents', async () => {
    terminal.open([scene.codex, 'agents', ...scene.remote], scene.workspace);
    await terminal.shows(/a-thread-of-tests/);
    terminal.key('Enter');
    await terminal.shows(/Reply to: /);
    await quit(terminal);
  });
}
