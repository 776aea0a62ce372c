// The text of a rules file, taken apart: calls with named arguments, and the places of what cannot be read.

/** Lines and columns count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Fault extends Position {
  readonly message: string;
}

/** `at`: where it begins, in characters from the start of the text. */
export type Value = { readonly at: number } & (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly Value[] }
);

/** `prefix_rule(name=value, …)`. */
export interface Call {
  readonly at: number;
  readonly given: ReadonlyMap<string, Value>;
}

export interface Reading {
  readonly calls: readonly Call[];
  readonly faults: readonly Fault[];
}

const CALL = 'prefix_rule';

/** Reads on behind what cannot be read, with the next line that begins a call. */
export function readCalls(text: string): Reading {
  const calls: Call[] = [];
  const faults: Fault[] = [];
  const reader = new Reader(text);
  while (!reader.isAtEnd) {
    const start = reader.offset;
    try {
      calls.push(reader.call());
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      faults.push({ message: error.message, ...positionIn(text, error.offset) });
      reader.goToCallAfter(start);
    }
  }
  return { calls, faults };
}

export function positionIn(text: string, offset: number): Position {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** What is wrong with the text, and where, in characters from its start. */
export class Unreadable extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

const BLANKS = /(?:[ \t\r\n]|#[^\n]*)*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const DEEPEST = 8;
const ESCAPE = /\\(?:(?<plain>["'\\bfnrt])|(?<code>x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}))/y;
const PLAIN_ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

class Reader {
  readonly #text: string;
  #offset = 0;

  constructor(text: string) {
    this.#text = text;
    this.#match(BLANKS);
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#text.length;
  }

  get offset(): number {
    return this.#offset;
  }

  call(): Call {
    const at = this.#offset;
    if (this.#match(NAME) !== CALL) throw new Unreadable(`expected \`${CALL}(…)\``, at);
    this.#blanks();
    this.#expect('(');
    const given = new Map<string, Value>();
    this.#separated(')', 'an argument such as `pattern=["ls"]`', () => {
      const before = this.#offset;
      const name = this.#match(NAME);
      if (name === undefined) return false;
      this.#blanks();
      this.#expect('=');
      if (given.has(name)) throw new Unreadable(`\`${name}\` is given twice`, before);
      given.set(name, this.#value(0));
      return true;
    });
    this.#endOfCall();
    return { at, given };
  }

  /** To the next line that begins with a call, which is within no value. */
  goToCallAfter(offset: number): void {
    const next = new RegExp(`\\n[ \\t]*(?=${CALL}\\b)`, 'g');
    next.lastIndex = offset;
    this.#offset = next.exec(this.#text) ? next.lastIndex : this.#text.length;
  }

  /** A call ends its line, but for a remark. */
  #endOfCall(): void {
    this.#match(/[ \t\r]*(?:#[^\n]*)?/y);
    if (!this.isAtEnd && this.#peek() !== '\n') throw this.#unexpected('the end of the line');
    this.#blanks();
  }

  #value(depth: number): Value {
    this.#blanks();
    const at = this.#offset;
    const sign = this.#peek();
    if (sign === '"' || sign === "'") return { kind: 'text', text: this.#quoted(sign), at };
    if (sign !== '[' || depth > DEEPEST) throw this.#unexpected('a text in quotes, or a list');
    this.#offset += 1;
    const items: Value[] = [];
    this.#separated(']', 'a text in quotes, a list or `]`', () => {
      if (!/["'[]/.test(this.#peek() ?? '')) return false;
      items.push(this.#value(depth + 1));
      return true;
    });
    return { kind: 'list', items, at };
  }

  /** Elements with commas between them, and perhaps one behind the last; up to and with `end`. */
  #separated(end: string, expected: string, element: () => boolean): void {
    for (;;) {
      this.#blanks();
      if (this.#peek() === end) break;
      if (!element()) throw this.#unexpected(expected);
      this.#blanks();
      if (this.#peek() === end) break;
      if (this.#peek() !== ',') throw this.#unexpected(`\`,\` or \`${end}\``);
      this.#offset += 1;
    }
    this.#offset += 1;
  }

  #quoted(quote: string): string {
    const start = this.#offset;
    let text = '';
    for (this.#offset += 1; ; ) {
      const sign = this.#peek();
      if (sign === undefined || sign === '\n') throw new Unreadable('this text has no closing quote', start);
      if (sign === '\\') text += this.#escaped();
      else {
        this.#offset += 1;
        if (sign === quote) return text;
        text += sign;
      }
    }
  }

  #escaped(): string {
    const found = matchAt(ESCAPE, this.#text, this.#offset);
    const { plain, code } = found?.groups ?? {};
    const point = code === undefined ? 0 : Number.parseInt(code.slice(1), 16);
    if (!found || point > 0x10_ffff) throw new Unreadable('there is no such escape', this.#offset);
    this.#offset += found[0].length;
    return plain === undefined ? String.fromCodePoint(point) : (PLAIN_ESCAPES[plain] ?? plain);
  }

  #blanks(): void {
    this.#match(BLANKS);
  }

  #peek(): string | undefined {
    return this.#text[this.#offset];
  }

  #match(pattern: RegExp): string | undefined {
    const found = matchAt(pattern, this.#text, this.#offset)?.[0];
    this.#offset += found?.length ?? 0;
    return found;
  }

  #expect(sign: string): void {
    if (this.#peek() !== sign) throw this.#unexpected(`\`${sign}\``);
    this.#offset += 1;
  }

  #unexpected(expected: string): Unreadable {
    const sign = this.#text.codePointAt(this.#offset);
    const found = sign === undefined ? 'the end of the file' : JSON.stringify(String.fromCodePoint(sign));
    return new Unreadable(`expected ${expected}, found ${found}`, this.#offset);
  }
}

/** `pattern` is a sticky one. */
function matchAt(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(text);
}
