// The commands as a tree, read from their own declarations: what can be typed where.

import type { Argv } from 'yargs';
import type { AddCommand } from './commands.ts';
import { EXIT } from './exit-codes.ts';

/** What the values of a flag or an argument are: paths, ids that a server knows, or words to choose from. */
export type Values = 'file' | 'folder' | 'variable' | 'setting' | 'thread' | 'approval' | readonly string[];

export interface OptionNode {
  /** As typed: `--cd`, `-C`. */
  readonly names: readonly string[];
  readonly describe: string;
  readonly takesValue: boolean;
  readonly isRepeatable: boolean;
  readonly values: Values | undefined;
}

export interface CommandNode {
  readonly name: string;
  /** Empty: it is not shown. */
  readonly describe: string;
  readonly options: readonly OptionNode[];
  /** In their order. */
  readonly positionals: readonly { readonly name: string; readonly values: Values | undefined }[];
  readonly commands: readonly CommandNode[];
}

interface Declared {
  readonly type?: string;
  readonly alias?: string;
  readonly array?: boolean;
  readonly hidden?: boolean;
  readonly describe?: string;
  readonly choices?: readonly string[];
  /** Ours: the command line library does not know it. */
  readonly completes?: Values;
}

type Growing = {
  -readonly [K in keyof CommandNode]: CommandNode[K] extends readonly (infer E)[] ? E[] : CommandNode[K];
};

export function treeOf(commands: readonly AddCommand[]): CommandNode {
  const root = grown('heddle', '');
  for (const add of commands) add(recorder(root), { code: EXIT.done });
  return root;
}

const grown = (name: string, describe: string): Growing => ({
  ...{ name, describe, options: [], positionals: [], commands: [] },
});

/** Stands in for the command line library: writes down what is declared, and takes everything else as said. */
function recorder(node: Growing): Argv {
  const known: Record<string, (...args: never[]) => unknown> = {
    command(spec: string, describe: string | false, build?: (inner: Argv) => unknown) {
      const [name = '', ...positionals] = spec.split(' ');
      const child = grown(name, describe || '');
      for (const each of positionals) child.positionals.push({ name: each.slice(1, -1), values: undefined });
      node.commands.push(child);
      build?.(recorder(child));
      return self;
    },
    options(all: Readonly<Record<string, Declared>>) {
      for (const [name, declared] of Object.entries(all))
        if (!declared.hidden) node.options.push(option(name, declared));
      return self;
    },
    positional(name: string, declared: Declared) {
      const at = node.positionals.findIndex((each) => each.name === name);
      if (at >= 0) node.positionals[at] = { name, values: declared.completes ?? declared.choices };
      return self;
    },
  };
  const self: unknown = new Proxy(known, { get: (own, name) => own[String(name)] ?? (() => self) });
  return self as Argv;
}

function option(name: string, { alias, type, array, describe = '', completes, choices }: Declared): OptionNode {
  return {
    names: [`--${name}`, ...(alias === undefined ? [] : [`-${alias}`])],
    describe,
    takesValue: type !== 'boolean',
    isRepeatable: array === true,
    values: completes ?? choices,
  };
}
