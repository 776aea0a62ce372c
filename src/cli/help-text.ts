// The help as it is printed: in the width of the terminal, with what the library glues to a full line on a line of its own.

const EXTRA = /^(.*\S)(\[(?:string|boolean|array|number|count|required|default|choices)\b.*\])$/;

/** `help` was folded to `width`. */
export function readable(help: string, width: number): string {
  const lines = help.split('\n').flatMap((line) => {
    const [, text, extra] = EXTRA.exec(line) ?? [];
    return text === undefined || extra === undefined ? [line] : [text, extra.padStart(width)];
  });
  return lines.map((line) => line.trimEnd()).join('\n');
}
