// A whole server in this process, on a temporary data directory, over any transport.

import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { PassThrough } from 'node:stream';
import { type App, createApp } from '../../src/app.ts';
import type { AppOptions } from '../../src/app-options.ts';
import { localPrincipal, type Principal } from '../../src/auth/principal.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { listenAt } from '../../src/transports/address.ts';
import { FRAME_LIMIT_BEFORE_INITIALIZE, type Listener } from '../../src/transports/connection.ts';
import { memoryPair } from '../../src/transports/memory.ts';
import type { ModelServer } from './model-server.ts';
import { type Introduction, TestClient } from './test-client.ts';
import { lineSocketWire, memoryWire, streamsWire, type Wire, webSocketWire } from './wires.ts';

export const TRANSPORTS = ['memory', 'stdio', 'unix', 'unix-lines', 'websocket'] as const;
export type Transport = (typeof TRANSPORTS)[number];

export interface StartOptions extends Pick<AppOptions, 'clock' | 'sandbox' | 'openHistory' | 'requirements' | 'kept'> {
  /** A model server stands for the runtime backend, with this provider. Default: mock. */
  readonly backend?: 'mock' | 'unavailable' | ModelServer;
  /** Settings of the configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly transport?: Transport;
  /** One that is already there is not removed at the end. */
  readonly dataDirectory?: string;
  readonly log?: Log;
}

export interface RunningApp extends AsyncDisposable {
  readonly app: App;
  readonly dataDirectory: string;
  /** An empty folder for threads to work in. */
  readonly workspace: string;
  /** Where it listens, if its transport listens anywhere. */
  readonly address: string;
  /** A client that has shaken hands. */
  connect(introduction?: Introduction): Promise<TestClient>;
  /** A client that has said nothing yet. */
  dial(): Promise<TestClient>;
  /** A client with another identity, over memory. */
  connectAs(principal: Principal, introduction?: Introduction): Promise<TestClient>;
  /** Stops politely and starts again on the same data. Clients have to connect anew. */
  restart(): Promise<void>;
  /** Starts a second server on what a kill -9 of this one would leave on disk now. Nothing that counts may be being written. */
  afterKill(): Promise<RunningApp>;
  close(): Promise<void>;
}

/** Every app and folder of the test that still has to go. */
const remains: (() => Promise<unknown>)[] = [];

/** Ends everything that tests have started; call it after each. */
export async function cleanUp(): Promise<void> {
  for (const end of remains.splice(0).reverse()) await end();
}

export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-test-')));
  remains.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What is indexed behind a turn may still be written: then the copy would be what no disk ever held, and is made anew. */
export async function copyAtRest(folder: string, copy: string): Promise<void> {
  do {
    await rm(copy, { recursive: true });
    await cp(folder, copy, { recursive: true });
  } while ((await contentsOf(folder)) !== (await contentsOf(copy)));
}

/** Of everything in it but sockets and the database's table of readers, which lives in memory. */
async function contentsOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== 'lock.mdb');
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
    hash.update(`${relative(folder, path)}\0`);
    hash.update(await readFile(path).catch(() => ''));
  }
  return hash.digest('hex');
}

export async function startApp(options: StartOptions = {}): Promise<RunningApp> {
  const dataDirectory = options.dataDirectory ?? (await temporaryFolder());
  const workspace = await temporaryFolder();
  const settings = { ...settingsOf(options.backend ?? 'mock'), ...options.config };
  await writeFile(join(dataDirectory, 'config.yaml'), JSON.stringify(settings));
  const served = new Served(options, dataDirectory, workspace);
  await served.start();
  const close = () => served.stop();
  remains.push(close);
  return {
    get app() {
      return served.app;
    },
    dataDirectory,
    workspace,
    get address() {
      return served.address;
    },
    dial: () => served.dial(),
    connect: (introduction) => introduced(served.dial(), introduction),
    connectAs: (principal, introduction) => introduced(served.dialMemory(principal), introduction),
    async restart() {
      await served.stop();
      await served.start();
    },
    async afterKill() {
      const copy = await temporaryFolder();
      await copyAtRest(dataDirectory, copy);
      return startApp({ ...options, dataDirectory: copy });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function introduced(dialling: Promise<TestClient>, introduction?: Introduction): Promise<TestClient> {
  const client = await dialling;
  await client.initialize(introduction);
  return client;
}

function settingsOf(backend: NonNullable<StartOptions['backend']>): Record<string, unknown> {
  if (typeof backend === 'string') return { backend };
  const scripted = {
    base_url: backend.baseUrl,
    wire_api: 'responses',
    request_max_retries: 1,
    stream_max_retries: 1,
  };
  return {
    backend: 'runtime',
    model: 'scripted-model',
    model_provider: 'scripted',
    model_providers: { scripted },
  };
}

/** One app after the other on one data directory, with the listener of the transport. */
class Served {
  app!: App;
  readonly #options: StartOptions;
  readonly #dataDirectory: string;
  readonly #workspace: string;
  #listener: Listener | undefined;

  constructor(options: StartOptions, dataDirectory: string, workspace: string) {
    this.#options = options;
    this.#dataDirectory = dataDirectory;
    this.#workspace = workspace;
  }

  get address(): string {
    return this.#listener?.address ?? '';
  }

  async start(): Promise<void> {
    const { clock, sandbox, openHistory, requirements, kept, log } = this.#options;
    this.app = await createApp({
      dataDirectory: this.#dataDirectory,
      cwd: this.#workspace,
      version: '0.0.0-test',
      log: log ?? silentLog(),
      environment: process.env,
      validatesResults: true,
      ...(clock ? { clock } : {}),
      ...(sandbox ? { sandbox } : {}),
      ...(openHistory ? { openHistory } : {}),
      ...(kept ? { kept } : {}),
      ...(requirements ? { requirements } : {}),
    });
    const transport = this.#options.transport ?? 'memory';
    if (transport === 'unix' || transport === 'unix-lines') await this.#listen('unix', join(this.#workspace, 'sock'));
    if (transport === 'websocket') await this.#listen('websocket');
  }

  async stop(): Promise<void> {
    await this.#listener?.close();
    await this.app.close();
  }

  async dial(): Promise<TestClient> {
    return new TestClient(await this.#wire());
  }

  async dialMemory(principal: Principal): Promise<TestClient> {
    const [server, client] = memoryPair({ frameLimit: FRAME_LIMIT_BEFORE_INITIALIZE });
    client.limitFrames(256 * 1024 * 1024);
    this.app.accept(server, principal);
    return new TestClient(memoryWire(client));
  }

  async #wire(): Promise<Wire> {
    const address = this.#listener?.address ?? '';
    switch (this.#options.transport ?? 'memory') {
      case 'memory':
        return (await this.dialMemory(localPrincipal)).wire;
      case 'stdio':
        return this.#overStreams();
      case 'unix':
        return webSocketWire(`ws+unix:${address.slice('unix://'.length)}:/`);
      case 'unix-lines':
        return lineSocketWire(address.slice('unix://'.length));
      case 'websocket':
        return webSocketWire(address);
    }
  }

  async #overStreams(): Promise<Wire> {
    const [readable, writable] = [new PassThrough(), new PassThrough()];
    const listen = listenAt({ kind: 'stdio' }, { dataDirectory: this.#dataDirectory, streams: { readable, writable } });
    await listen((connection, principal) => void this.app.accept(connection, principal));
    return streamsWire(readable, writable);
  }

  async #listen(kind: 'unix' | 'websocket', path = ''): Promise<void> {
    const address = kind === 'unix' ? ({ kind, path } as const) : ({ kind, host: '127.0.0.1', port: 0 } as const);
    const flags = kind === 'websocket' ? { wsAuth: 'none' } : {};
    const listen = listenAt(address, { dataDirectory: this.#dataDirectory, flags });
    this.#listener = await listen((connection, principal) => void this.app.accept(connection, principal));
  }
}
