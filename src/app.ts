// The composition root: builds the rooms from the bottom up, and takes them down again.

import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { accountHandlers } from './account/handlers.ts';
import { installationId } from './account/installation.ts';
import { createKeyStore } from './account/keys.ts';
import { modelHandlers } from './agent/handlers.ts';
import { type BackendName, chosenBackend, createBackend, settingsParts } from './app-backend.ts';
import { createConfigNews, loadingAfter, openConfig } from './app-config.ts';
import { barsOf, FEATURES } from './app-features.ts';
import { createMcpServers, mayRememberMcpTool, mcpRoutes, rememberMcpTool } from './app-mcp.ts';
import type { AppOptions } from './app-options.ts';
import { createSafety } from './app-safety.ts';
import { ApprovalBroker } from './approvals/broker.ts';
import { permissionProfileHandlers } from './approvals/handlers.ts';
import { LOCAL_TENANT, type Principal } from './auth/principal.ts';
import { systemClock } from './base/clock.ts';
import { type Closable, closeOnce } from './base/close.ts';
import { childEnvironment } from './children/environment.ts';
import { createChildren } from './children/spawn.ts';
import { budgetsOf } from './config/budgets.ts';
import { catalogueHandlers } from './config/catalogues.ts';
import { checkCeiling } from './config/ceiling.ts';
import { connectionSettings as settingsOf } from './config/connection-settings.ts';
import { barredByCeiling } from './config/consent.ts';
import { problemText } from './config/faults.ts';
import { configHandlers } from './config/handlers.ts';
import type { ConfigSource } from './config/load.ts';
import { requirementsFile } from './config/requirements.ts';
import { retentionOf } from './config/retention.ts';
import { isBelow } from './fs/containment.ts';
import { denialsOf, remoteNames } from './fs/denials.ts';
import { createFiles } from './fs/files.ts';
import { openLeftovers } from './fs/leftovers.ts';
import { keptFolders } from './fs/protection.ts';
import { capabilityHandlers } from './handshake/capabilities.ts';
import { handshakeHandlers } from './handshake/handlers.ts';
import { openLmdbHistory } from './history/lmdb.ts';
import { type OwnerReach, takeOwnership } from './history/owner.ts';
import { processHandlers } from './process/handlers.ts';
import { Queues } from './rpc/queues.ts';
import { type Route, Router } from './rpc/router.ts';
import { type Session, Sessions } from './rpc/session.ts';
import { unsupportedRoutes } from './rpc/unsupported.ts';
import { Doors } from './sandbox/doors.ts';
import { createSkillsRoom } from './skills/room.ts';
import { approvalHandlers } from './threads/approval-handlers.ts';
import { attachmentHandlers } from './threads/attachment-handlers.ts';
import { compactionHandlers } from './threads/compaction-handlers.ts';
import { forkHandlers } from './threads/fork-handlers.ts';
import { goalHandlers } from './threads/goal-handlers.ts';
import { historyHandlers } from './threads/history-handlers.ts';
import { lifeHandlers } from './threads/life-handlers.ts';
import { listHandlers } from './threads/list-handlers.ts';
import { metadataHandlers } from './threads/metadata-handlers.ts';
import { Notices } from './threads/notices.ts';
import { warning } from './threads/notifications.ts';
import { PendingApprovals } from './threads/pending-approvals.ts';
import { policyHandlers } from './threads/policy-handlers.ts';
import { queueHandlers } from './threads/queue-handlers.ts';
import { ThreadRegistry } from './threads/registry.ts';
import { reviewHandlers } from './threads/review-handlers.ts';
import { searchHandlers } from './threads/search-handlers.ts';
import { sectionHandlers } from './threads/section-handlers.ts';
import { shellHandlers } from './threads/shell-handlers.ts';
import { shownEnded } from './threads/shown-ended.ts';
import { createSubscribers } from './threads/subscriber.ts';
import { terminalHandlers } from './threads/terminal-handlers.ts';
import { threadHandlers } from './threads/thread-handlers.ts';
import { turnHandlers } from './threads/turn-handlers.ts';
import { workspacesOf } from './threads/workspaces.ts';
import type { Connection } from './transports/connection.ts';

export interface App extends Closable {
  readonly backend: BackendName;
  /** Nobody chose the backend: it is `unavailable` for want of a choice. */
  readonly isBackendUnchosen: boolean;
  /** Why the configuration file was not used at the start, with its place. */
  readonly configProblem: string | undefined;
  /** Real path of the data directory. */
  readonly dataDirectory: string;
  readonly config: ConfigSource;
  /** Serves a connection until it ends. */
  accept(connection: Connection, principal: Principal): Session;
  /** Tells others how to reach this server; on disk when it resolves. */
  announce(reach: OwnerReach): Promise<void>;
  /** A thread works; one that only waits for people does not. */
  isBusy(): boolean;
  /** Keeps a file or folder out of the sight of sandboxed commands. */
  hide(path: string): void;
}

/**
 * Takes the data directory, recovers what was cut off, and is ready to serve. Rejects as *invalid* for a wrong flag, as
 * *unavailable* when another server has the directory. Closing settles and stores turns, ends sessions and children, and frees
 * the directory.
 */
export async function createApp(options: AppOptions): Promise<App> {
  const { version, log, environment, cwd, clock = systemClock, kept = keptFolders() } = options;
  const flags = [...(options.configFlags ?? []), ...(options.backend ? [`backend=${options.backend}`] : [])];
  const ownership = await takeOwnership({ directory: options.dataDirectory, version });
  const { directory } = ownership;
  const watching: { close(): unknown }[] = [];
  try {
    const config = await openConfig({ dataDirectory: directory, flags, requirements: options.requirements });
    const { config: initial, problem } = await config.state();
    const backendName = chosenBackend(initial.backend);
    const latest = { config: initial };
    const history = await (options.openHistory ?? openLmdbHistory)({
      directory,
      log,
      clock,
      retention: () => retentionOf(latest.config),
      isInUse: (tenant, id) => registry.find(tenant, id) !== undefined,
    });
    const children = createChildren(log);
    const leftovers = await openLeftovers(join(directory, 'leftovers'), log);
    const commits = { queues: new Queues(), leftovers };
    const doors = new Doors(join(directory, 'net'), log);
    const keys = createKeyStore(directory);
    const sessions = new Sessions();
    const bounds = createSafety({
      ...{ dataDirectory: directory, leftovers, children, sessions, clock, log },
      sandbox: options.sandbox,
    });
    watching.push(bounds);
    const broker = new ApprovalBroker({
      clock,
      log,
      unattended: () => latest.config.unattended,
      mayAccept: (by, proposal) => barredByCeiling(by, proposal, latest.config.remote),
    });
    const hidden = [directory];
    const programEnvironment = childEnvironment(environment);
    const backend = createBackend(backendName ?? 'unavailable', { config, keys, environment });
    const tools = {
      broker,
      prefixRules: bounds.prefixRules,
      runner: { children, sandbox: bounds.sandbox, doors, clock },
      ...{ commits, looksFolder: join(directory, 'looks') },
      clock,
      environment: programEnvironment,
      ...{ hidden, writableRoots: config.requirements?.writableRoots },
      approvalLifeMs: () => latest.config.approval_timeout_seconds * 1000,
      mayRememberMcpTool: mayRememberMcpTool(config),
      rememberMcpTool: rememberMcpTool(config),
      clientToolLifeMs: () => latest.config.client_tool_timeout_seconds * 1000,
    };
    const mcp = createMcpServers({
      ...{ config, children, clock, log, environment, cwd, version },
      dataDirectory: directory,
    });
    const skills = createSkillsRoom({
      ...{ config, sessions, clock, log, cwd, hidden, dataDirectory: directory, home: homedir() },
      systemFolder: join(dirname(options.requirements?.file ?? requirementsFile(process.platform)), 'skills'),
    });
    const registry = new ThreadRegistry({
      history: shownEnded(history),
      backend,
      notices: new Notices(sessions),
      clock,
      log,
      validates: options.validatesResults ?? false,
      budgets: () => budgetsOf(latest.config),
      idleMs: () => latest.config.idle_unload_seconds * 1000,
      checkCapped: async (wanted) => checkCeiling(await config.load(), wanted, isBelow),
      remoteRoots: async () => (await config.load()).remote.roots,
      remoteDenials: async () => denialsOf(await config.load()),
      tools,
      mcp,
      skills: skills.skills,
    });
    const subscriberOf = createSubscribers(broker);
    const instructions = { config, dataDirectory: directory, hidden };
    const current = async () => {
      latest.config = (await config.state()).config;
      return latest.config;
    };
    const settings = settingsParts(backend, loadingAfter(current, config), cwd);
    const recovering = new Map<string, Promise<void>>();
    const recover = (tenant: string): Promise<void> => {
      const known = recovering.get(tenant) ?? registry.recover(tenant);
      recovering.set(tenant, known);
      known.catch(() => recovering.delete(tenant));
      return known;
    };
    const pending = new PendingApprovals({ registry, broker, recovered: recover });
    const mayLookInto = async ({ isLocal }: Principal, folder: string) =>
      isLocal || (await remoteNames(await current()))(folder);
    const loadedThreads = (tenant: string) => registry.loadedIds(tenant);
    const told = createConfigNews({ source: config, sessions, loadedThreads, log });
    watching.push(told);
    const { tellOfFolder } = told;
    const onInitialized = (session: Session) => {
      const { tenant } = session.principal;
      recover(tenant).catch((error: unknown) =>
        log.error({ err: error, tenant }, 'open turns could not be looked for; the next client has it tried again'),
      );
      told.tell(session);
      bounds.tell(session);
      if (history.shut !== undefined) session.notify(warning, { threadId: null, message: history.shut });
      skills.begin();
    };
    const files = createFiles({
      ...{ clock, log, children, cwd, environment: programEnvironment, hidden: () => hidden, commits },
      remoteRoots: async () => (await current()).remote.roots,
      remoteDenials: async () => denialsOf(await current()),
      protection: (tenant) => ({
        folders: [...kept.homes, cwd, ...latest.config.remote.roots, ...workspacesOf(registry, tenant)],
        ...{ ownFolder: directory, top: kept.top },
      }),
    });
    const routes: Route[] = [
      ...capabilityHandlers({
        routes: () => routes,
        bars: async (session) =>
          barsOf(session, await current(), { backend: backendName ?? 'unavailable', shut: history.shut }),
      }),
      ...handshakeHandlers({
        sessions,
        version,
        dataDirectory: directory,
        features: FEATURES,
        onInitialized,
        settingsOf,
      }),
      ...threadHandlers({ registry, settings, subscriberOf, instructions, pending, clock, version, tellOfFolder }),
      ...[lifeHandlers, historyHandlers, listHandlers, searchHandlers, terminalHandlers].flatMap((of) => of(registry)),
      ...metadataHandlers(registry, settings),
      ...forkHandlers({ registry, settings, subscriberOf, clock, version }),
      ...[goalHandlers, sectionHandlers, attachmentHandlers].flatMap((of) => of(registry, clock)),
      ...queueHandlers(registry, settings),
      ...turnHandlers({
        registry,
        settings,
        ifBusy: async ({ settings: own }) => (await config.viewOf(own).state()).config.busy_turn_start,
      }),
      ...shellHandlers({ registry, settings }),
      ...compactionHandlers(registry, settings),
      ...reviewHandlers(registry, settings),
      ...configHandlers({ source: config, cwd, loadedThreads, mayLookInto, tellOfFolder }),
      ...catalogueHandlers({ cwd, loadedThreads }),
      ...accountHandlers({ keys, sessions, config: config.load, installationId: () => installationId(directory) }),
      ...permissionProfileHandlers({ config, cwd, mayLookInto }),
      ...approvalHandlers(pending, broker),
      ...policyHandlers({ registry, settings, tools }),
      ...processHandlers({ ...tools.runner, config, cwd, hidden, isBelow, log, environment: programEnvironment }),
      ...files.routes,
      ...mcpRoutes(mcp, registry, clock),
      ...skills.routes,
      ...modelHandlers({ models: (query) => backend.models(query), config }),
    ];
    const implemented = new Set(routes.map((route) => route.method.method));
    const router = new Router([...routes, ...unsupportedRoutes(implemented)], {
      ...{ log, maxInFlight: options.maxInFlight },
      ledgerOf: (principal) => registry.ledger(principal.tenant),
      validatesResults: options.validatesResults ?? false,
    });
    await recover(LOCAL_TENANT);
    const open = new Set<Connection>();
    return {
      backend: backendName ?? 'unavailable',
      isBackendUnchosen: backendName === undefined,
      configProblem: problem && problemText(problem),
      dataDirectory: directory,
      config,
      announce: (reach) => ownership.announce(reach),
      isBusy: () => registry.isBusy,
      hide: (path) => void hidden.push(path),
      accept(connection, principal) {
        open.add(connection);
        void connection.closed.then(() => open.delete(connection));
        return router.serve(connection, principal);
      },
      close: closeOnce(async () => {
        await registry.close();
        // A turn that is still to be stored may be waiting for what is known of the sandbox.
        for (const each of watching) await each.close();
        await mcp.close();
        const reason = { kind: 'shutdown' as const, text: 'the server stops' };
        await Promise.all([...open].map((connection) => connection.close(reason)));
        for (const each of [backend, files, skills, children, doors, history, ownership]) await each.close();
      }),
    };
  } catch (error) {
    for (const each of watching) await each.close();
    await ownership.close();
    throw error;
  }
}
