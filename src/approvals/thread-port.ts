// What approvals and tools may ask of a thread, without knowing what a thread is.

import type { Principal } from '../auth/principal.ts';
import type { Permissions, Proposal } from '../model/approval.ts';
import type { DeltaEvent, ThreadEvent } from '../model/event.ts';
import type { ItemId, Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import type { ThreadSettings } from '../model/thread.ts';

export interface ThreadPort {
  readonly threadId: ThreadId;
  settings(): ThreadSettings;
  /** Stores the events in one transaction, then shows them; settles when they are on disk. */
  append(events: readonly ThreadEvent[]): Promise<Seq>;
  /** Hands over streamed text: stored with the next commit, then shown. Settles when more may be handed over. */
  stream(delta: DeltaEvent): Promise<void>;
  /** The id, or a new one if an item of the thread has it already. */
  uniqueItemId(id: ItemId | null, prefix: string): Promise<ItemId>;
  /** Who is listening now and may answer questions. */
  audience(): readonly Principal[];
}

/** One turn of a thread, as tools see it. */
export interface TurnPort extends ThreadPort {
  readonly turnId: TurnId;
  /** Somebody under the operator's ceiling drives the turn. */
  isCapped(): boolean;
  /** Grants that hold for this turn and for the thread while it is loaded. */
  readonly grants: GrantHolder;
  /** The question that stands about a call of the model since before a restart. */
  standing(callId: string): Standing | undefined;
  /**
   * Asks one of the clients that listen to run a tool of its own. `begin` stores the item that the question is about: the question
   * goes out with it. Settles at once when the signal aborts; rejects only as `begin` does.
   */
  askClient(question: ClientQuestion, begin: () => Promise<unknown>, signal: AbortSignal): Promise<ClientAnswer>;
  /** The last diff of a turn that goes on since before a restart; of any other turn null. */
  earlierDiff(): string | null;
}

export interface ClientQuestion {
  readonly itemId: ItemId;
  readonly namespace: string | null;
  readonly tool: string;
  readonly arguments: unknown;
}

export type ClientAnswer =
  /** As it came. */
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'error' }
  /** No client listens that could be asked; nothing was done. */
  | { readonly kind: 'nobody' }
  /** A client was asked and gave no answer: whether it did anything is not known. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'stopped'; readonly wasAsked: boolean };

export interface Standing {
  readonly proposal: Proposal;
  /** Questions about no item have none. */
  readonly item: Item | undefined;
}

export interface GrantHolder {
  /** Digests of operations that were accepted, and until when. */
  has(operationDigest: string): boolean;
  add(operationDigest: string, until: 'turn' | 'session'): void;
  /** What the sandbox allows beyond the policy of the thread, by all grants that hold now. */
  permissions(): Permissions;
  grant(permissions: Permissions, until: 'turn' | 'session'): void;
}
