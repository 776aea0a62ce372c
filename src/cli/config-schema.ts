// The configuration file as JSON Schema, for editors.

import { z } from 'zod';
import { Config } from '../config/schema.ts';
import { isTable, type Table } from '../config/tables.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** Prints it to standard output; the same program prints the same bytes. */
export function printConfigSchema(): ExitCode {
  process.stdout.write(`${JSON.stringify(configSchema(), null, 2)}\n`);
  return EXIT.done;
}

/** What may be written; unknown settings are kept and have no effect. */
export function configSchema(): Readonly<Record<string, unknown>> & { readonly properties?: object } {
  const { $schema, ...schema } = z.toJSONSchema(Config(), { target: 'draft-7', io: 'input' });
  return { $schema, title: 'config.yaml of Heddle', ...schema };
}

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: Node | boolean;
}

/** Words about a path that no setting has, which is kept all the same; undefined for one that is known. */
export function noteOfUnknown(path: readonly string[]): string | undefined {
  let at = configSchema() as Node;
  for (const [index, name] of path.entries()) {
    const inner = innerOf(at, name);
    if (inner === 'unknown')
      return `no setting \`${path.slice(0, index + 1).join('.')}\` is known: it is kept and has no effect (heddle schema --config)`;
    at = inner;
  }
  return undefined;
}

/** The paths of the settings that nothing reads, dots between their parts. */
export function unknownSettings(settings: Table): readonly string[] {
  const within = (node: Node, table: Table, before: readonly string[]): readonly string[] =>
    Object.entries(table).flatMap(([name, value]) => {
      const inner = innerOf(node, name);
      const path = [...before, name];
      if (inner === 'unknown') return [path.join('.')];
      return isTable(value) ? within(inner, value, path) : [];
    });
  return within(configSchema() as Node, settings, []);
}

/** Where any name may stand, or nothing is said of it, all that is below is known. */
function innerOf({ properties, additionalProperties: others }: Node, name: string): Node | 'unknown' {
  if (properties) return Object.hasOwn(properties, name) ? (properties[name] ?? {}) : 'unknown';
  return typeof others === 'object' ? others : {};
}
