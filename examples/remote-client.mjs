// A client on another machine: HEDDLE_TOKEN=… node examples/remote-client.mjs wss://heddle.example /srv/projects/demo "say Hello"
import { connect } from 'heddle/client/node';

const fail = (message, code = 1) => {
  console.error(message);
  process.exit(code);
};
process.on('uncaughtException', ({ message }) => fail(message));
const [url, cwd, prompt] = process.argv.slice(2);
if (prompt === undefined) fail('usage: HEDDLE_TOKEN=… node remote-client.mjs wss://HOST FOLDER PROMPT', 2);
const client = await connect({ name: 'remote-example', version: '1.0.0', url, token: process.env.HEDDLE_TOKEN });
client.on('state', ({ state }) => process.stderr.write(`[${state}]\n`));
const thread = await client.thread({ cwd });
const turn = thread.turn(prompt);
for await (const piece of turn.text()) process.stdout.write(piece);
const { status } = await turn.completed;
process.stdout.write(`\n${status}\n`);
process.exitCode = status === 'completed' ? 0 : 1;
await client.close();
