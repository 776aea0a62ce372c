// A terminal program in its own tmux server: keys go in, screens come out.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const quote = (word) => `'${String(word).replaceAll("'", `'\\''`)}'`;

/** Whether tmux can be run here. */
export function hasTmux() {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** An assertion about a screen that did not come true; carries what the screen showed instead. */
export class ScreenError extends Error {
  constructor(message, screen) {
    super(message);
    this.screen = screen;
  }
}

let opened = 0;

export class Terminal {
  // A new one for each screen: a tmux server that is still ending would refuse the next session.
  #socket = 'heddle-conformance-none';
  #folder;
  #env;

  /** `env` is the whole environment of the programs; `folder` takes the script that starts them. */
  constructor(folder, env) {
    this.#folder = folder;
    this.#env = env;
  }

  #tmux(...args) {
    return execFileSync('tmux', ['-L', this.#socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      env: this.#env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }

  /** Starts `command` in a fresh screen; when it ends, the screen shows `ENDED <exit code>` and stays. */
  open(command, cwd) {
    const script = path.join(this.#folder, 'terminal.sh');
    const line = command.map(quote).join(' ');
    fs.writeFileSync(script, `#!/bin/sh\ncd ${quote(cwd)}\n${line}\necho "ENDED $?"\nexec sleep 600\n`, {
      mode: 0o700,
    });
    this.close();
    opened += 1;
    this.#socket = `heddle-conformance-${process.pid}-${opened}`;
    this.#tmux('new-session', '-d', '-s', 'main', '-x', '180', '-y', '50', script);
  }

  /** The screen with what has scrolled out of it. */
  text() {
    return this.#tmux('capture-pane', '-p', '-t', 'main', '-S', '-400').trimEnd();
  }

  /** The screen as it stands. */
  visible() {
    return this.#tmux('capture-pane', '-p', '-t', 'main');
  }

  /** Types without Enter. */
  type(text) {
    this.#tmux('send-keys', '-t', 'main', '-l', '--', text);
  }

  key(...names) {
    this.#tmux('send-keys', '-t', 'main', ...names);
  }

  /** Types a line. The program takes what comes in one burst for pasted text, in which Enter is a line break. */
  async line(text) {
    for (let tries = 3; ; tries -= 1) {
      this.type(text);
      try {
        await this.shows(text.slice(-20), 15_000);
        break;
      } catch (error) {
        // Keys that come while it redraws its input line are lost.
        if (tries === 1) throw error;
        this.key('C-u');
        await pause(500);
      }
    }
    await pause(400);
    this.key('Enter');
  }

  /** Resolves once the screen shows `what` (text, or an expression) and gives the screen; fails after `limit` ms. */
  async shows(what, limit = 90_000) {
    for (const end = Date.now() + limit; ; ) {
      const screen = this.text();
      if (typeof what === 'string' ? screen.includes(what) : what.test(screen)) return screen;
      if (Date.now() > end) throw new ScreenError(`the screen never showed ${what} within ${limit} ms`, screen);
      await pause(100);
    }
  }

  close() {
    try {
      this.#tmux('kill-server');
    } catch {
      // No server runs on this socket.
    }
  }
}
