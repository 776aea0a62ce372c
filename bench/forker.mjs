// A client of its own, in a thread of its own, that forks the long thread: to parse megabytes of answer must hold up no other client.
import { parentPort, workerData } from 'node:worker_threads';
import { connect } from './client.mjs';

const client = await connect(workerData);
parentPort.on('message', async () => {
  const start = performance.now();
  try {
    const { at } = await client.request('thread/fork', { threadId: 'bench-long' });
    parentPort.postMessage({ ms: at - start });
  } catch (error) {
    parentPort.postMessage({ error: error.message });
  }
});
parentPort.postMessage('ready');
