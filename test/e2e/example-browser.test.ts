// The page of examples/browser in a real browser: a streamed turn, an approval by a click, a cut, and an origin that is not let in.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { hasBrowser, openPage } from './chromium.ts';
import { Program, scratch, serve } from './executable.ts';

const SERVE = fileURLToPath(new URL('../../examples/browser/serve.mjs', import.meta.url));

/** The origin of the page's own server. */
async function servePage(): Promise<string> {
  const [origin] = await new Program(['0'], { executable: SERVE }).said('stdout', /http:\S+/);
  return origin;
}

/** The server of threads, with the token that it made. */
async function serveThreads(origin: string, listen = 'ws://127.0.0.1:0', data = scratch()) {
  const { program, address } = await serve(['--listen', listen, '--allow-origin', origin, '--data-dir', data]);
  const [, file] = await program.said('stderr', /token file: (.+)\n/);
  return { program, address, data, token: readFileSync(file!, 'utf8').trim() };
}

async function connect(page: Page, url: string, token: string, cwd = scratch()): Promise<void> {
  await page.fill('[name=url]', url);
  await page.fill('[name=token]', token);
  await page.fill('[name=cwd]', cwd);
  await page.click('text=Connect');
}

async function ask(page: Page, prompt: string): Promise<void> {
  await page.fill('[name=prompt]', prompt);
  await page.click('text=Send');
}

const shown = (page: Page, selector: string, text: string) => page.locator(selector, { hasText: text }).waitFor();

test.skipIf(!hasBrowser)('a page of an allowed origin streams a turn, and a click answers a question', async () => {
  const origin = await servePage();
  const { address, token } = await serveThreads(origin);
  const page = await openPage(origin);
  const folder = scratch();
  await connect(page, address, token, folder);
  await shown(page, '#state', 'connected');

  // The answer is seen to grow: its first words are there while the turn, which ends by a click, goes on.
  await ask(page, 'say First words\nrun! touch by-a-click\nsay Last words');
  await shown(page, '#answer', 'First words');
  await shown(page, '#question code', 'touch by-a-click');
  expect(existsSync(join(folder, 'by-a-click'))).toBe(false);
  await page.click('text=Accept');
  await shown(page, '#state', 'completed');
  expect(await page.textContent('#answer')).toContain('Last words');
  expect(existsSync(join(folder, 'by-a-click'))).toBe(true);

  await ask(page, 'run! touch never');
  await page.click('text=Decline');
  await shown(page, '#answer', 'Done.');
  expect(existsSync(join(folder, 'never'))).toBe(false);
});

test.skipIf(!hasBrowser)('a page comes back to a server that was killed', async () => {
  const origin = await servePage();
  const first = await serveThreads(origin, `ws://127.0.0.1:${await freePort()}`);
  const page = await openPage(origin);
  await connect(page, first.address, first.token);
  await shown(page, '#state', 'connected');
  first.program.child.kill('SIGKILL');
  await shown(page, '#state', 'reconnecting');
  await serveThreads(origin, first.address, first.data);
  await shown(page, '#state', 'ready');
  await ask(page, 'say Hello again');
  await shown(page, '#answer', 'Hello again');
});

test.skipIf(!hasBrowser)('a page of another origin, and one with a wrong token, are refused', async () => {
  const [origin, foreign] = await Promise.all([servePage(), servePage()]);
  const { program, address, token } = await serveThreads(origin);
  const page = await openPage(foreign);
  await connect(page, address, token);
  await shown(page, '#state', 'refused');
  await page.goto(origin);
  await connect(page, address, 'a-wrong-token');
  await shown(page, '#state', 'refused');
  await connect(page, address, token);
  await shown(page, '#state', 'connected');
  expect(program.stderr).not.toContain(token);
});
