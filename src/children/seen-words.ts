// The words of commands as a shell line shows them: rather one too many than one too few.

import type { Node } from 'web-tree-sitter';
import type { SeenWords } from './starters.ts';

export function wordsOf(command: Node): SeenWords {
  const own = command.children.filter(
    (part) => !/_redirect$/.test(part.type) && (part.type !== 'variable_assignment' || command.type !== 'command'),
  );
  const words = own.map((part) => wordOf(part.type === 'command_name' ? part.firstChild : part));
  return [...words, ...behindRedirections(command)];
}

/** The grammar takes the words behind `> file` for further files, and hangs them on all of a list though they are of its last command. */
function behindRedirections(command: Node): SeenWords {
  let { parent } = command;
  while (parent?.type === 'pipeline' || parent?.type === 'list') {
    if (parent.endIndex !== command.endIndex) return [];
    parent = parent.parent;
  }
  if (parent?.type !== 'redirected_statement') return [];
  const redirections = parent.children.filter(({ type }) => type === 'file_redirect');
  return redirections.flatMap((each) => each.childrenForFieldName('destination').slice(1).map(wordOf));
}

function wordOf(node: Node | null): string | undefined {
  switch (node?.type) {
    case 'raw_string':
      return node.text.slice(1, -1);
    case 'ansi_c_string':
      return unescapedOf(node.text.slice(2, -1));
    case 'translated_string':
      return wordOf(node.firstNamedChild);
    case 'string':
      if (node.namedChildren.some((part) => part?.type !== 'string_content')) return undefined;
      return node.text.slice(1, -1).replaceAll(/\\([$`"\\])|\\\n/g, '$1');
    case 'concatenation': {
      const parts = node.children.map(wordOf);
      return parts.includes(undefined) ? undefined : parts.join('');
    }
    default:
      if (node === null || node === undefined || node.namedChildCount > 0) return undefined;
      return node.text.replaceAll(/\\\n/g, '').replaceAll(/\\(.)/g, '$1');
  }
}

/** They stand before a command. */
const KEYWORD = /^(?:!|\{|if|then|elif|else|while|until|do|time|[A-Za-z_]\w*=.*)$/;

/** For what the grammar cannot read: everything between blanks is a word, and a command begins wherever one could. */
export function crudely(line: string): readonly SeenWords[] {
  return line.split(/[;&|()`\n]+/).flatMap((part) => {
    const words = part
      .replaceAll(/["'\\]/g, '')
      .split(/\s+/)
      .filter(Boolean);
    const start = words.findIndex((word) => !KEYWORD.test(word));
    return start < 0 ? [] : [words.slice(start)];
  });
}

/** Lines in backquotes where the grammar takes them for text: in expansions, and in here-documents that are expanded. */
export function backquoted(root: Node): readonly string[] {
  const texts = root.descendantsOfType(['expansion', 'heredoc_body']).flatMap((node) => {
    if (node.type === 'expansion') return node.children.flatMap((part) => (isText(part) ? [part.text] : []));
    const start = node.parent?.children.find(({ type }) => type === 'heredoc_start');
    return start && /["'\\]/.test(start.text) ? [] : [node.text];
  });
  return texts.flatMap((text) =>
    [...text.matchAll(/`((?:\\.|[^`\\])*)`/gs)].map(([, line = '']) => line.replaceAll(/\\([$`\\])/g, '$1')),
  );
}

const isText = (part: Node): boolean => part.type === 'word' || part.type === 'regex';

const ESCAPE =
  /\\(?:x(?<hexadecimal>[\da-fA-F]{1,2})|u(?<short>[\da-fA-F]{1,4})|U(?<long>[\da-fA-F]{1,8})|(?<octal>[0-7]{1,3})|c(?<control>.)|(?<plain>.))/gsu;
const PLAIN: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** What `$'…'` stands for; undefined for what is no character. */
function unescapedOf(text: string): string | undefined {
  let isKnown = true;
  const words = text.replaceAll(ESCAPE, (...found) => {
    const { hexadecimal, short, long, octal, control, plain } = found.at(-1) as Record<string, string | undefined>;
    if (plain !== undefined) return PLAIN[plain] ?? (/["'?\\]/.test(plain) ? plain : `\\${plain}`);
    if (control !== undefined) return String.fromCodePoint((control.codePointAt(0) ?? 0) & 0x1f);
    const code =
      octal === undefined ? Number.parseInt(hexadecimal ?? short ?? long ?? '', 16) : Number.parseInt(octal, 8);
    // The shell ends the word at a NUL, and makes bytes of other characters.
    isKnown &&= code > 0 && code <= 0x10_ffff && (code < 0x80 || (octal ?? hexadecimal) === undefined);
    return isKnown ? String.fromCodePoint(code) : '';
  });
  return isKnown ? words : undefined;
}
