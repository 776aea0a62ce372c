// A program that starts a server, runs one turn and prints the answer as it comes: node examples/node-client.mjs "say Hello"
import { connect } from 'heddle/client/node';

process.on('uncaughtException', ({ message }) => process.stderr.write(`${message}\n`, () => process.exit(1)));
const client = await connect({
  name: 'example',
  version: '1.0.0',
  spawn: { command: process.env.HEDDLE_COMMAND ?? 'heddle', args: ['app-server', '--backend', 'mock'] },
  onServerRequest: { 'item/commandExecution/requestApproval': () => ({ decision: 'decline' }) },
});
const thread = await client.thread({ cwd: process.cwd() });
const turn = thread.turn(process.argv[2] ?? 'say Hello from a client of twenty lines');
for await (const news of turn) {
  if (news.method === 'item/agentMessage/delta') process.stdout.write(news.params.delta);
  if (news.method === 'item/completed') process.stderr.write(`[${news.params.item.type}]\n`);
}
const { status } = await turn.completed;
process.stdout.write(`\n${status}\n`);
process.exitCode = status === 'completed' ? 0 : 1;
await client.close();
