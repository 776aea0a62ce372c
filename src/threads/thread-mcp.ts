// The MCP servers of one loaded thread: its connections, and what they ask of those who listen to it.

import { fingerprint } from '../base/canonical.ts';
import type { Closable } from '../base/close.ts';
import type { Table } from '../config/tables.ts';
import type { ServerSet } from '../mcp/server-set.ts';
import type { McpServers } from '../mcp/servers.ts';
import type { Notification, ParamsInput } from '../rpc/declare.ts';
import { notificationFrame } from '../rpc/message.ts';
import { type ElicitationParts, Elicitations } from './elicitations.ts';
import { Frame } from './frame.ts';
import type { Subscription, ThreadLog } from './thread-log.ts';

export interface ThreadMcpParts extends ElicitationParts {
  readonly mcp: McpServers;
  readonly validates: boolean;
}

export class ThreadMcp implements Closable {
  readonly servers: ServerSet;
  readonly #parts: ThreadMcpParts;
  readonly #log: ThreadLog;
  readonly #elicitations: Elicitations;
  #own: Table | undefined;

  constructor(parts: ThreadMcpParts, log: ThreadLog) {
    const { threadId } = log;
    this.#parts = parts;
    this.#log = log;
    const settings = () => log.accepted.meta.settings;
    this.#elicitations = new Elicitations(parts, {
      threadId,
      settings,
      turn: () => log.accepted.turn,
      append: (events) => log.append(events),
      audience: () => log.audience,
    });
    this.servers = parts.mcp.forThread({
      threadId,
      cwd: () => settings().cwd,
      own: () => this.#own,
      tell: (notification, params) => this.#tell(notification, params),
      elicit: (server, elicited) => this.#elicitations.ask(server, elicited),
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

  /** When it starts somebody listens: servers are begun to be connected. */
  joining(subscription: Subscription): Subscription {
    const start = () => {
      subscription.start();
      void this.servers.start();
    };
    return { ...subscription, start };
  }

  /** Ends what the servers have asked; settles when that is on disk. They can ask nothing more. */
  endQuestions(): Promise<void> {
    return this.#elicitations.end();
  }

  close(): Promise<void> {
    return this.servers.close();
  }

  /** Tells everyone who listens something that is not part of the history. */
  #tell<N extends Notification>(notification: N, params: ParamsInput<N>): void {
    if (this.#parts.validates) notification.params().parse(params);
    const { method, experimental } = notification;
    const text = notificationFrame(method, JSON.stringify(params), this.#parts.clock.now());
    const frame = new Frame(method, text, { experimental });
    for (const subscriber of this.#log.subscribers) subscriber.send([frame]);
  }
}
