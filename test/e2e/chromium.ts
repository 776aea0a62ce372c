// A real browser without a window, that looks up no names and reaches nothing but this machine.

import { type Browser, chromium, type Page } from 'playwright-core';
import { afterEach } from 'vitest';
import { areInstalled, whereIs } from './installed.ts';

export const hasBrowser = areInstalled('chromium');

const open = new Set<Browser>();

afterEach(async () => {
  const browsers = [...open];
  open.clear();
  await Promise.all(browsers.map((browser) => browser.close()));
});

/** A page in a browser of its own, which is closed after the test. */
export async function openPage(url: string): Promise<Page> {
  const browser = await chromium.launch({
    executablePath: whereIs('chromium')!,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  });
  open.add(browser);
  const page = await browser.newPage();
  // Below the limit of a test, so that what did not come is named.
  page.setDefaultTimeout(90_000);
  await page.goto(url);
  return page;
}
