// A program that answers each line on standard input with the same line, and ends when its input does.

import { listenOnStdio } from '../../../../src/transports/stdio.ts';

await listenOnStdio()(async (connection) => {
  connection.limitFrames(16 * 1024 * 1024);
  for await (const frame of connection.frames)
    connection.send([typeof frame === 'string' ? frame : JSON.stringify(frame)]);
  await connection.close({ kind: 'ended', text: 'the input is over' });
});
