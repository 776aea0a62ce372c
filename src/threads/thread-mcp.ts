// The MCP servers of one loaded thread: its connections, and what they ask of those who listen to it.

import { fingerprint } from '../base/canonical.ts';
import type { Closable } from '../base/close.ts';
import type { Table } from '../config/tables.ts';
import type { ServerSet } from '../mcp/server-set.ts';
import type { McpServers } from '../mcp/servers.ts';
import type { ThreadStatus } from '../model/thread.ts';
import type { Subscriber } from './cursor.ts';
import { type ElicitationParts, Elicitations } from './elicitations.ts';
import { statusOf } from './state.ts';
import type { Subscription, ThreadLog } from './thread-log.ts';

export interface ThreadMcpParts extends ElicitationParts {
  readonly mcp: McpServers;
}

export class ThreadMcp implements Closable {
  readonly servers: ServerSet;
  readonly #elicitations: Elicitations;
  #own: Table | undefined;

  constructor(parts: ThreadMcpParts, log: ThreadLog) {
    const { threadId } = log;
    const settings = () => log.accepted.meta.settings;
    this.#elicitations = new Elicitations(parts, {
      threadId,
      settings,
      activeTurnId: () => log.accepted.turn?.id,
      status: () => this.status(statusOf(log.stored)),
      subscribers: () => log.subscribers,
    });
    this.servers = parts.mcp.forThread({
      threadId,
      cwd: () => settings().cwd,
      own: () => this.#own,
      tell: (notification, params) => this.#elicitations.tell(notification, params),
      elicit: (server, question, signal) => this.#elicitations.ask(server, question, signal),
    });
  }

  /** Whether servers given to the thread are others than it has. */
  isNews(own: Table): boolean {
    return fingerprint(own) !== fingerprint(this.#own ?? {});
  }

  /** Servers of its own, over those that are configured, in place of those given before; gone when it is unloaded. */
  async give(own: Table): Promise<void> {
    this.#own = own;
    await this.servers.reload();
  }

  /** The status of the thread, with the questions of servers among what it waits for. */
  status(status: ThreadStatus): ThreadStatus {
    if (!this.#elicitations.areStanding) return status;
    const flags = status.type === 'active' ? status.activeFlags : [];
    return { type: 'active', activeFlags: [...new Set(['waitingOnApproval' as const, ...flags])] };
  }

  /** When it starts somebody listens: servers are begun to be connected, and what they ask is shown. */
  joining(subscriber: Subscriber, subscription: Subscription): Subscription {
    const start = () => {
      subscription.start();
      void this.servers.start();
      this.#elicitations.join(subscriber);
    };
    return { ...subscription, start };
  }

  /** Questions of servers that stand are those of the others now. */
  leaving(subscriber: Subscriber): void {
    this.#elicitations.leave(subscriber);
  }

  close(): Promise<void> {
    return this.servers.close();
  }
}
