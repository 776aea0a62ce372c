// `codex archive|unarchive|queue|delete` with --remote: what each changes is read back from the server.
import { expect, reached } from './steps.mjs';

/** What the server answered last to this method. */
const answered = (scene, method) =>
  scene.relay.entries.findLast((entry) => entry.from === 'server' && entry.answers?.method === method)?.message;

export async function sessionsSession(scene, step) {
  const command = (...args) => scene.run(...args, ...scene.remote);
  const started = await scene.run('exec', '--skip-git-repo-check', ...scene.remote, '--json', 'a thread to keep');
  const threadId = /"thread_id":"([^"]+)"/.exec(started)?.[1];
  const resume = () => scene.run('exec', '--skip-git-repo-check', ...scene.remote, 'resume', threadId, 'still there?');
  expect(threadId, `no thread id in:\n${started}`);
  await step('archive', async () => {
    await command('archive', threadId);
    expect(answered(scene, 'thread/archive')?.result, 'the server did not archive the thread');
  });
  await step('unarchive', async () => {
    await command('unarchive', threadId);
    expect(
      answered(scene, 'thread/unarchive')?.result?.thread.id === threadId,
      'the server did not give the thread back',
    );
    expect((await resume()).includes('Reply to: still there?'), 'the thread does not go on');
  });
  await step('queue', async () => {
    await command('queue', '--thread', threadId, '--message', 'queued from outside', '--resume');
    await reached(
      () => scene.model.requests.some(({ userTexts }) => userTexts.at(-1)?.includes('queued from outside')),
      'the model never got the queued message',
    );
  });
  await step('delete', async () => {
    await command('delete', '--force', threadId);
    expect(answered(scene, 'thread/delete')?.result, 'the server did not delete the thread');
    const refused = await resume().then(
      () => undefined,
      ({ message }) => message,
    );
    expect(refused?.includes('no rollout found'), `a deleted thread is resumed: ${refused ?? 'no error'}`);
  });
}
