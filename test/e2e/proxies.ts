// Real TLS proxies with the configurations of examples/proxy, each on a port of its own with a certificate of an authority made here.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { Program, scratch } from './executable.ts';
import { areInstalled, whereIs } from './installed.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples/proxy/', import.meta.url));

export type ProxyName = 'nginx' | 'caddy';

export const PROXIES: readonly { readonly name: ProxyName; readonly isThere: boolean }[] = [
  { name: 'nginx', isThere: areInstalled('nginx', 'openssl') },
  { name: 'caddy', isThere: areInstalled('caddy', 'openssl') },
];

export interface TlsProxy {
  /** `localhost` with a port. */
  readonly host: string;
  /** The certificate of the authority, for clients. */
  readonly authority: string;
  /** What its access log holds. */
  accessLog(): string;
  /** As an operator does who has changed its configuration. */
  reload(): Promise<void>;
  /** Every connection is cut. */
  stop(): Promise<void>;
  /** On the same port. */
  start(): Promise<void>;
}

const running = new Set<Program>();

// Before the programs are killed: the workers of a killed nginx would stay.
afterEach(() => Promise.all([...running].map(end)));

async function end(program: Program): Promise<void> {
  program.child.kill('SIGTERM');
  await program.ended;
  running.delete(program);
}

function certificates(folder: string): void {
  const make = (name: string, ...args: string[]) => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`];
    const request = ['req', '-x509', ...key, '-days', '2', '-out', `${name}.pem`, ...args];
    execFileSync('openssl', request, { cwd: folder, stdio: 'pipe' });
  };
  make('authority', '-subj', '/CN=An authority of this test');
  const signer = ['-CA', 'authority.pem', '-CAkey', 'authority.key'];
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE'];
  make('heddle', '-subj', '/CN=localhost', ...signer, ...names);
}

/** An example with other addresses and paths; each must be there, so that the examples and this cannot drift apart. */
function adapted(file: string, replacements: readonly (readonly [string, string])[]): string {
  let text = readFileSync(join(EXAMPLES, file), 'utf8');
  for (const [old, replacement] of replacements) {
    if (!text.includes(old)) throw new Error(`\`${old}\` is not in ${file}`);
    text = text.replaceAll(old, replacement);
  }
  return text;
}

const NGINX_AROUND = (folder: string): string => `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr notice;
events {}
http {
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${folder}/${each};`).join(' ')}
  include ${folder}/heddle.conf;
}
`;
const CADDY_AROUND = (folder: string): string => `
{
	admin off
	auto_https disable_redirects
}
import ${folder}/heddle.conf
`;

interface Kind {
  readonly file: string;
  readonly around: (folder: string) => string;
  readonly listen: (port: number) => readonly (readonly [string, string])[];
  readonly args: (main: string) => readonly string[];
  readonly isUp: RegExp;
}

const KINDS: Readonly<Record<ProxyName, Kind>> = {
  nginx: {
    file: 'nginx.conf',
    around: NGINX_AROUND,
    listen: (port) => [
      ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
      ['server_name heddle.example', 'server_name localhost'],
    ],
    args: (main) => ['-e', 'stderr', '-c', main],
    isUp: /start worker process \d/,
  },
  caddy: {
    file: 'Caddyfile',
    around: CADDY_AROUND,
    listen: (port) => [['\nheddle.example {', `\nlocalhost:${port} {\n\tbind 127.0.0.1`]],
    args: (main) => ['run', '--adapter', 'caddyfile', '--config', main],
    isUp: /serving initial configuration/,
  },
};

/** In front of a server at `upstream`, an address with a port; `changes` are made to the example. */
export async function startProxy(
  name: ProxyName,
  upstream: string,
  changes: readonly (readonly [string, string])[] = [],
): Promise<TlsProxy> {
  const { file, around, listen, args, isUp } = KINDS[name];
  const folder = scratch();
  const port = await freePort();
  certificates(folder);
  const paths = [
    ['127.0.0.1:4511', upstream],
    ['/etc/ssl/', `${folder}/`],
    [`/var/log/${name}/`, `${folder}/`],
  ] as const;
  writeFileSync(join(folder, 'heddle.conf'), adapted(file, [...paths, ...listen(port), ...changes]));
  const main = join(folder, 'main.conf');
  writeFileSync(main, around(folder));
  let program: Program;
  const start = async (): Promise<void> => {
    program = new Program(args(main), { command: whereIs(name)!, environment: { XDG_DATA_HOME: folder } });
    running.add(program);
    await program.said('stderr', isUp);
  };
  await start();
  return {
    host: `localhost:${port}`,
    authority: join(folder, 'authority.pem'),
    accessLog: () => readFileSync(join(folder, 'heddle.log'), 'utf8'),
    async reload() {
      program.child.kill('SIGHUP');
      await program.said('stderr', /gracefully shutting down/);
    },
    stop: () => end(program),
    start,
  };
}
