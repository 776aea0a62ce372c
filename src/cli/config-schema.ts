// The configuration file as JSON Schema, for editors.

import { z } from 'zod';
import { Config } from '../config/schema.ts';
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
