// Takes a data directory, says so or why not, and keeps it until it is ended.

import { takeOwnership } from '../../../src/history/owner.ts';

const [directory, endpoint] = process.argv.slice(2) as [string, string];
try {
  const owner = await takeOwnership({ directory, version: '1.2.3' });
  await owner.announce({ endpoints: [endpoint] });
  console.log(JSON.stringify({ taken: owner.directory }));
  process.stdin.resume();
  process.stdin.on('end', () => owner.close().then(() => process.exit(0)));
} catch (error) {
  const { kind, message, data } = error as { kind: string; message: string; data: object };
  console.log(JSON.stringify({ kind, message, data }));
  process.exitCode = 3;
}
