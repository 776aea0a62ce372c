// Generated YAML files as people write them: comments, anchors, odd quoting, either line break, flow and block collections.

import { choicesOf } from './schedule.ts';
export interface Written {
  readonly path: readonly string[];
  /** From the key to the end of the value and of the comment behind it. */
  readonly start: number;
  readonly end: number;
  /** Takes part in an anchor: another place says the same by referring to it. */
  readonly isShared: boolean;
}

export interface YamlFile {
  readonly text: string;
  /** Every setting that can be reached by keys. */
  readonly written: readonly Written[];
}

const KEYS = [
  'a',
  'b',
  'cc',
  'd-d',
  'e e',
  '/w/x.y',
  "it's",
  'ünï',
  '5',
  'true',
  'x: y',
  '#k',
  'null',
  '-',
  '',
] as const;
const TEXTS = [
  'x',
  'two words',
  'a: b',
  '# no comment',
  "it's",
  '"q"',
  '- x',
  '',
  ' lead',
  'trail ',
  'ü→😀',
  'null',
  '1.0',
  '@at',
  '{',
  '*s',
  '&a',
  '!t',
  '%p',
  'a\\b',
];

export function yamlFile(seed: number): YamlFile {
  return new Writer(choicesOf(seed).below).file();
}

class Writer {
  readonly #roll: (below: number) => number;
  readonly #newline: string;
  readonly #step: number;
  #text = '';
  #comments = 0;
  #anchors = 0;
  readonly #open: string[] = [];
  readonly #referred = new Set<string>();
  readonly #written: { path: readonly string[]; start: number; end: number; anchors: readonly string[] }[] = [];
  /** Anchors inside which is written now. */
  readonly #within: string[] = [];

  constructor(roll: (below: number) => number) {
    this.#roll = roll;
    this.#newline = roll(3) === 0 ? '\r\n' : '\n';
    this.#step = 1 + roll(4);
  }

  file(): YamlFile {
    if (this.#chance(10)) this.#put('\ufeff');
    if (this.#chance(6)) this.#line('%YAML 1.2', '---');
    else if (this.#chance(5)) this.#line('---');
    this.#gap(0);
    const root = this.#roll(12);
    if (root === 0) this.#flowMap([], 0, true);
    else if (root > 1) this.#blockMap([], 0);
    if (this.#chance(6)) this.#put(`${this.#newline}# end`);
    else if (this.#chance(8)) this.#text = this.#text.replace(/\r?\n$/, '');
    else if (this.#chance(10) && this.#text.endsWith('\n')) this.#line('...');
    const isShared = (anchors: readonly string[]) => anchors.some((name) => this.#referred.has(name));
    return {
      text: this.#text,
      written: this.#written.map(({ path, start, end, anchors }) => ({
        path,
        start,
        end,
        isShared: isShared(anchors),
      })),
    };
  }

  #chance(oneIn: number): boolean {
    return this.#roll(oneIn) === 0;
  }

  #put(text: string): void {
    this.#text += text;
  }

  #line(...lines: string[]): void {
    for (const line of lines) this.#put(line + this.#newline);
  }

  #comment(): string {
    this.#comments += 1;
    return `# c${this.#comments};`;
  }

  /** Comments and blank lines between settings. */
  #gap(indent: number): void {
    while (this.#chance(4)) this.#line(this.#chance(2) ? '' : ' '.repeat(indent) + this.#comment());
  }

  #keys(): string[] {
    const count = 1 + this.#roll(4);
    return [...new Set(Array.from({ length: count }, () => KEYS[this.#roll(KEYS.length)] ?? 'a'))];
  }

  #key(name: string): string {
    const isPlain = /^[a-z/ü][^:#]*$/.test(name) && name !== 'true' && name !== 'null';
    if ((isPlain || name === '5' || name === 'true') && !this.#chance(4)) return name;
    return this.#chance(2) ? `'${name.replaceAll("'", "''")}'` : JSON.stringify(name);
  }

  #blockMap(path: readonly string[], indent: number): void {
    for (const name of this.#keys()) {
      this.#gap(indent);
      this.#put(' '.repeat(indent));
      const start = this.#text.length;
      const record = this.#record([...path, name]);
      if (this.#chance(12)) this.#put(`? ${this.#key(name)}${this.#newline}${' '.repeat(indent)}:`);
      else this.#put(`${this.#key(name)}${this.#chance(8) ? ' ' : ''}:`);
      this.#value([...path, name], indent);
      record(start, this.#text.replace(/(?:\r?\n)+$/, '').length);
      if (!this.#text.endsWith('\n')) this.#put(this.#newline);
    }
  }

  #record(path: readonly string[]): (start: number, end: number) => void {
    const before = this.#anchors;
    const within = [...this.#within];
    return (start, end) => {
      const inside = Array.from({ length: this.#anchors - before }, (_, index) => `n${before + index + 1}`);
      this.#written.push({ path, start, end, anchors: [...within, ...inside] });
    };
  }

  /** After the colon, to the end of its last line or before its line break. */
  #value(path: readonly string[], indent: number): void {
    const kind = path.length > 3 ? this.#roll(8) : this.#roll(14);
    const anchor = this.#anchor();
    const inner = indent + this.#step;
    if (kind < 6) this.#put(`${anchor} ${this.#scalar()}`);
    else if (kind === 6) this.#blockScalar(anchor, inner);
    else if (kind === 7) this.#put(anchor === '' && this.#chance(2) ? '' : `${anchor} ~`);
    else if (kind < 11) this.#nested(anchor, () => this.#blockMap(path, inner));
    else if (kind === 11) this.#nested(anchor, () => this.#blockSequence(inner));
    else {
      this.#put(`${anchor} `);
      if (this.#chance(3)) this.#flowSequence();
      else this.#flowMap(path, inner, this.#chance(2));
    }
    this.#close(anchor);
    if (!this.#text.endsWith('\n') && this.#chance(4)) this.#put(` ${this.#comment()}`);
  }

  #nested(anchor: string, body: () => void): void {
    this.#put(`${anchor}${this.#chance(4) ? ` ${this.#comment()}` : ''}${this.#newline}`);
    body();
  }

  #anchor(): string {
    if (!this.#chance(8)) return '';
    this.#anchors += 1;
    this.#within.push(`n${this.#anchors}`);
    return ` &n${this.#anchors}`;
  }

  #close(anchor: string): void {
    if (anchor === '') return;
    this.#within.pop();
    this.#open.push(anchor.slice(2));
  }

  #scalar(): string {
    const text = TEXTS[this.#roll(TEXTS.length)] ?? '';
    switch (this.#roll(8)) {
      case 0:
        return String(this.#roll(1000));
      case 1:
        return ['true', 'no', '1e3', '.5', '0x1f', '.inf', 'NULL', '2001-01-01'][this.#roll(8)] ?? '';
      case 2:
      case 3:
        return JSON.stringify(text);
      case 4:
        return `'${text.replaceAll("'", "''")}'`;
      case 5:
        return this.#reference() ?? 'plain';
      case 6:
        return `!!str ${JSON.stringify(text)}`;
      default:
        return ['plain', 'http://h/x#y', 'a-b_c', 'x y', "don't", 'a:b'][this.#roll(6)] ?? '';
    }
  }

  #reference(): string | undefined {
    const name = this.#open[this.#roll(Math.max(this.#open.length, 1))];
    if (name === undefined) return undefined;
    this.#referred.add(name);
    return `*${name} `.trimEnd();
  }

  #blockScalar(anchor: string, indent: number): void {
    const header = `${this.#chance(2) ? '|' : '>'}${['', '-', '+'][this.#roll(3)]}`;
    this.#put(`${anchor} ${header}${this.#chance(4) ? ` ${this.#comment()}` : ''}${this.#newline}`);
    for (let line = 0; line <= this.#roll(3); line += 1) {
      this.#line(
        this.#chance(5) ? '' : `${' '.repeat(indent)}${line === 0 ? '' : ' '.repeat(this.#roll(2))}t # ${line}`,
      );
    }
    this.#line(`${' '.repeat(indent)}last`);
    while (this.#chance(3)) this.#line('');
  }

  #blockSequence(indent: number): void {
    for (let item = 0; item <= this.#roll(3); item += 1) {
      this.#gap(indent);
      const comment = this.#chance(5) ? ` ${this.#comment()}` : '';
      this.#line(`${' '.repeat(indent)}- ${this.#chance(4) ? `k: ${this.#scalar()}` : this.#scalar()}${comment}`);
    }
  }

  #flowSequence(): void {
    this.#put('[');
    const count = this.#roll(3);
    for (let item = 0; item < count; item += 1) this.#put(`${item > 0 ? ', ' : ''}${this.#flowScalar()}`);
    this.#put(']');
  }

  #flowScalar(): string {
    const scalar = this.#scalar();
    return /^[^"'!*]*[{[]/.test(scalar) ? '"flow"' : scalar;
  }

  #flowMap(path: readonly string[], indent: number, isTall: boolean): void {
    const lineBreak = () => (isTall ? this.#newline + ' '.repeat(Math.max(indent, 1)) : this.#chance(3) ? '' : ' ');
    this.#put('{');
    const keys = this.#chance(8) ? [] : this.#keys();
    keys.forEach((name, index) => {
      this.#put(lineBreak());
      const start = this.#text.length;
      const record = this.#record([...path, name]);
      const key = this.#key(name);
      if (this.#chance(10)) this.#put(key);
      else if (this.#chance(5) && path.length < 4) {
        this.#put(`${key}: `);
        this.#flowMap([...path, name], indent + 1, isTall && this.#chance(2));
      } else this.#put(`${key}: ${this.#chance(6) ? '[1, "x"]' : this.#flowScalar()}`);
      record(start, this.#text.length);
      const isLast = index === keys.length - 1;
      if (!isLast || this.#chance(3))
        this.#put(this.#text.endsWith('*') ? ' ,' : /\*n\d+$/.test(this.#text) ? ' ,' : ',');
      if (isTall && this.#chance(4)) this.#put(` ${this.#comment()}`);
    });
    if (isTall) this.#put(this.#newline + ' '.repeat(Math.max(indent - 1, 1)));
    this.#put('}');
  }
}
