// The plan that a model proposes within a message: cut out of it while it streams, and shown beside it.

import { type ItemId, newId } from '../../model/ids.ts';
import type { BackendEvent } from '../backend.ts';

const OPENING = '<proposed_plan>';
const CLOSING = '</proposed_plan>';
/** Characters that are held back at most: whoever sends blanks without end gets them through. */
const MAX_HELD = 1_000;

type Phase = Extract<BackendEvent, { type: 'messageStarted' }>['phase'];
/** A stretch of text and where it belongs. An empty one for the plan: it begins here. */
interface Piece {
  readonly to: 'message' | 'plan';
  readonly text: string;
}

/** Tells what streams in apart. A tag counts only as a line of its own; the beginning of a line that may become one is held back. */
class PlanFinder {
  #isInPlan = false;
  #isAtLineStart = true;
  #held = '';

  feed(text: string): Piece[] {
    const pieces: Piece[] = [];
    let rest = this.#held + text;
    this.#held = '';
    while (rest !== '') {
      const end = rest.indexOf('\n') + 1;
      const line = end === 0 ? rest : rest.slice(0, end);
      if (this.#isAtLineStart && end === 0 && mayBecomeTag(line, this.#tag)) {
        this.#held = line;
        break;
      }
      rest = rest.slice(line.length);
      this.#take(line, pieces);
    }
    return pieces;
  }

  /** What was held back, when nothing more comes. */
  end(): Piece[] {
    const pieces: Piece[] = [];
    if (this.#held !== '') this.#take(this.#held, pieces);
    this.#held = '';
    return pieces;
  }

  get #tag(): string {
    return this.#isInPlan ? CLOSING : OPENING;
  }

  #take(line: string, pieces: Piece[]): void {
    const isTag = this.#isAtLineStart && line.trim() === this.#tag;
    this.#isAtLineStart = line.endsWith('\n');
    if (isTag) this.#isInPlan = !this.#isInPlan;
    if (isTag && !this.#isInPlan) return;
    pieces.push({ to: this.#isInPlan ? 'plan' : 'message', text: isTag ? '' : line });
  }
}

function mayBecomeTag(line: string, tag: string): boolean {
  if (line.length > MAX_HELD) return false;
  const begun = line.trimStart();
  return tag.startsWith(begun) || begun.trimEnd() === tag;
}

/** One message of a model that plans, as items: its own words, and the plan if there is one. */
export class PlanningMessage {
  readonly #id: ItemId;
  readonly #phase: Phase;
  readonly #finder = new PlanFinder();
  readonly #planId = newId();
  #hasPlan = false;
  #isShown = false;
  #hasStreamed = false;
  /** Blanks before the first word: a message of nothing else is none. */
  #blanks = '';

  constructor(id: ItemId, phase: Phase) {
    this.#id = id;
    this.#phase = phase;
  }

  add(parts: readonly string[]): BackendEvent[] {
    this.#hasStreamed = true;
    return parts.flatMap((part) => this.#tell(this.#finder.feed(part)));
  }

  /** `text`: all of it, as the model has it. The plan is completed before the message around it. */
  complete(text: string): BackendEvent[] {
    const out = this.#hasStreamed ? this.#tell(this.#finder.end()) : [];
    const finder = new PlanFinder();
    const pieces = [...finder.feed(text), ...finder.end()];
    const textOf = (to: Piece['to']) =>
      pieces
        .filter((piece) => piece.to === to)
        .map((piece) => piece.text)
        .join('');
    if (this.#hasPlan || pieces.some(({ to }) => to === 'plan'))
      out.push(...this.#beginPlan(), { type: 'planCompleted', itemId: this.#planId, text: textOf('plan') });
    const words = textOf('message');
    if (this.#isShown || words.trim() !== '') {
      out.push(...this.#show(), { type: 'messageCompleted', itemId: this.#id, text: words });
    }
    return out;
  }

  #tell(pieces: readonly Piece[]): BackendEvent[] {
    return pieces.flatMap(({ to, text }) => (to === 'plan' ? this.#tellPlan(text) : this.#tellWords(text)));
  }

  #tellPlan(text: string): BackendEvent[] {
    const begun = this.#beginPlan();
    if (text === '') return begun;
    return [...begun, { type: 'planText', itemId: this.#planId, parts: [text] }];
  }

  #tellWords(text: string): BackendEvent[] {
    const words = this.#blanks + text;
    if (!this.#isShown && words.length <= MAX_HELD && words.trim() === '') {
      this.#blanks = words;
      return [];
    }
    this.#blanks = '';
    return [...this.#show(), { type: 'text', itemId: this.#id, parts: [words] }];
  }

  #beginPlan(): BackendEvent[] {
    if (this.#hasPlan) return [];
    this.#hasPlan = true;
    return [{ type: 'planStarted', itemId: this.#planId }];
  }

  #show(): BackendEvent[] {
    if (this.#isShown) return [];
    this.#isShown = true;
    return [{ type: 'messageStarted', itemId: this.#id, phase: this.#phase }];
  }
}
