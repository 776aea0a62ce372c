// A client on another machine: HEDDLE_TOKEN=… node examples/remote-client.mjs wss://heddle.example /srv/projects/demo "say Hello"
import { connect } from 'heddle/client/node';

const [url, cwd, prompt] = process.argv.slice(2);
const client = await connect({ name: 'remote-example', version: '1.0.0', url, token: process.env.HEDDLE_TOKEN });
client.on('state', ({ state }) => process.stderr.write(`[${state}]\n`));
const thread = await client.thread({ cwd });
const turn = thread.turn(prompt);
for await (const piece of turn.text()) process.stdout.write(piece);
const { status } = await turn.completed;
process.stdout.write(`\n${status}\n`);
await client.close();
