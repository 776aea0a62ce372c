// How each server under test is started and configured, and where it is known to need something else.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { referenceExecutable } from '../reference.mjs';

const KIT = path.dirname(fileURLToPath(import.meta.url));

/**
 * What a case may ask of the configuration, in the key names that `config/read` uses:
 * `model`, `wire`, `provider` (members of the provider entry), `trusted` (is the workspace a trusted folder),
 * `config` (any further keys), `mcp` (MCP servers by name).
 */
export const DEFAULT_SETTINGS = {
  model: 'gpt-5.5',
  wire: 'responses',
  provider: { request_max_retries: 0, stream_max_retries: 1 },
  trusted: true,
  config: {},
  mcp: {},
};

const TARGETS = {
  reference: {
    homeVariable: 'CODEX_HOME',
    configName: 'config.toml',
    brokenConfig: '\nthis is not toml\n',
    command: (args, exe) => ({ file: referenceExecutable(exe) ?? 'codex', args: ['app-server', ...args] }),
    listen: (address) => ['--listen', address],
    withoutAuth: () => [],
    env: () => ({ RUST_LOG: 'error' }),
    configText: (settings, place) => toml({
      model: settings.model,
      model_provider: 'scripted',
      ...settings.config,
      model_providers: {
        scripted: {
          name: 'Scripted', base_url: `${place.modelOrigin}/v1`, wire_api: settings.wire,
          stream_idle_timeout_ms: 20_000, ...settings.provider,
        },
      },
      ...(settings.trusted ? { projects: { [place.workspace]: { trust_level: 'trusted' } } } : {}),
      ...(Object.keys(settings.mcp).length > 0 ? { mcp_servers: settings.mcp } : {}),
    }),
  },
  heddle: {
    homeVariable: 'HEDDLE_HOME',
    configName: 'config.yaml',
    brokenConfig: '\nmodel: [unclosed\n',
    command: (args, exe) => {
      const entry = exe ?? path.join(process.env.OURS ?? path.join(KIT, '..', '..'), 'bin', 'heddle.js');
      return { file: process.execPath, args: [entry, 'app-server', '--backend', 'runtime', ...args] };
    },
    listen: (address) => ['--listen', address],
    withoutAuth: (address) => (address.startsWith('ws://') ? ['--ws-auth', 'none'] : []),
    env: () => ({}),
    // Trust of folders is not how this server finds its defaults here; what it leads to is written out.
    configText: (settings, place) => yaml({
      backend: 'runtime',
      model: settings.model,
      model_provider: 'scripted',
      model_providers: {
        scripted: { name: 'Scripted', base_url: `${place.modelOrigin}/v1`, wire_api: settings.wire, ...settings.provider },
      },
      approval_policy: 'on-request',
      sandbox_mode: settings.trusted ? 'workspace-write' : 'read-only',
      ...settings.config,
      ...(Object.keys(settings.mcp).length > 0 ? { mcp_servers: settings.mcp } : {}),
    }),
  },
};

export const targetNames = Object.keys(TARGETS);

/** A target bound to its executable; `command` gives `{ file, args }` for a run with these arguments. */
export function target(name, { exe } = {}) {
  const found = TARGETS[name];
  if (!found) throw new Error(`unknown target ${name}; there are: ${targetNames.join(', ')}`);
  return { name, ...found, command: (args) => found.command(args, exe) };
}

/** The program or script that a target runs, when it is not there; undefined when it is, or is looked up on the PATH. */
export function missingEntry(aim) {
  const { file, args } = aim.command([]);
  const entry = file === process.execPath ? args[0] : file;
  return !path.isAbsolute(entry) || fs.existsSync(entry) ? undefined : entry;
}

/** The folders of one case, and the environment of the processes in it. */
export class Place {
  constructor(base, aim, modelOrigin, settings) {
    this.base = base;
    this.aim = aim;
    this.modelOrigin = modelOrigin;
    this.settings = { ...DEFAULT_SETTINGS, ...settings };
    this.home = path.join(base, 'home');
    this.data = path.join(base, 'data');
    this.workspace = path.join(base, 'workspace');
    this.temp = path.join(base, 'tmp');
    for (const folder of [this.home, this.data, this.workspace, this.temp]) fs.mkdirSync(folder, { recursive: true });
    this.configFile = path.join(this.data, aim.configName);
    fs.writeFileSync(this.configFile, aim.configText(this.settings, this));
  }

  env(extra = {}) {
    return {
      PATH: process.env.PATH, HOME: this.home, TMPDIR: this.temp, LANG: 'C.UTF-8', TERM: 'xterm', SHELL: '/bin/bash',
      [this.aim.homeVariable]: this.data, ...this.aim.env(), ...extra,
    };
  }

  breakConfig() { fs.appendFileSync(this.configFile, this.aim.brokenConfig); }
}

export const demoMcpServer = () => ({ command: process.execPath, args: [path.join(KIT, 'mcp-server.mjs')] });

// ---- configuration text: enough of TOML and YAML for plain trees

const plainKey = (key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key));
const yamlKey = (key) => (/^(y|n|yes|no|on|off|true|false|null|~|[\d.+-]+)$/i.test(key) ? JSON.stringify(key) : plainKey(key));
const isTree = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function toml(tree, trail = []) {
  const own = Object.entries(tree).filter(([, value]) => !isTree(value));
  const below = Object.entries(tree).filter(([, value]) => isTree(value));
  const head = trail.length > 0 && own.length > 0 ? [`[${trail.map(plainKey).join('.')}]`] : [];
  const lines = own.map(([key, value]) => `${plainKey(key)} = ${JSON.stringify(value)}`);
  return [
    ...(head.length + lines.length > 0 ? [[...head, ...lines, ''].join('\n')] : []),
    ...below.map(([key, value]) => toml(value, [...trail, key])),
  ].join('\n');
}

function yaml(tree, indent = '') {
  return Object.entries(tree)
    .map(([key, value]) => (isTree(value)
      ? `${indent}${yamlKey(key)}:\n${yaml(value, `${indent}  `)}`
      : `${indent}${yamlKey(key)}: ${JSON.stringify(value)}\n`))
    .join('');
}
