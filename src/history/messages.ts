// The messages of a thread, from its table of items: what people and the agent have said.

import type { Seq, ThreadId, TurnId } from '../model/ids.ts';
import type { Item } from '../model/item.ts';
import { beyond } from './keys.ts';
import { revive, type Source } from './reader.ts';
import { decode } from './records.ts';
import { breathe } from './rows.ts';
import type { ItemRow } from './store.ts';

/** Rows, and characters of them, read before other work gets its turn. */
const STEP = 200;
const STEP_CHARACTERS = 256 * 1024;
/** Characters of messages, which may lie outside of their rows, given before other work gets its turn. */
const GIVEN_CHARACTERS = 1024 * 1024;
/** Quotes inside of strings are escaped, so only members match. */
const MESSAGE = /"type":"(?:userMessage|agentMessage)"/;

export interface Message {
  readonly seq: Seq;
  readonly turnId: TurnId;
  readonly itemId: string;
  readonly text: string;
}

/** From the number `from` to before `to`, in order; what cannot be read is passed over. */
export async function* messagesOf(source: Source, id: ThreadId, from: Seq, to: Seq): AsyncGenerator<Message> {
  const { rows, keys } = source;
  let range = { from: keys.item(id, from), to: keys.item(id, to) } as ReturnType<typeof beyond>;
  let given = 0;
  for (;;) {
    const step = rows.scan({ ...range, limit: STEP, characters: STEP_CHARACTERS });
    for (const { text } of step) {
      if (!MESSAGE.test(text)) continue;
      const { seq, turnId, item } = await revive(source, id, decode<ItemRow>(text));
      const words = wordsIn(item);
      if (words === '') continue;
      yield { seq, turnId, itemId: item.id, text: words };
      given += words.length;
      if (given < GIVEN_CHARACTERS) continue;
      given = 0;
      await breathe();
    }
    const last = step.at(-1);
    if (last === undefined) return;
    range = beyond(range, last.key, false);
    await breathe();
  }
}

function wordsIn(item: Item): string {
  if (item.type === 'agentMessage') return item.text;
  if (item.type !== 'userMessage') return '';
  return item.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
