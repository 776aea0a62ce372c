// `codex exec` with --remote: a prompt, a streamed answer, resume, a wrong token.
import { expect, sent } from './steps.mjs';

export async function execSession(scene, step) {
  const exec = (...args) => scene.run('exec', '--skip-git-repo-check', ...scene.remote, ...args);
  const events = (text) =>
    text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
  let threadId;
  await step('a prompt is answered', async () => {
    const output = await exec('hello there');
    expect(output.includes('Reply to: hello there'), `no answer in its output:\n${output}`);
  });
  await step('a streamed answer arrives in pieces and whole', async () => {
    const before = sent(scene, 'item/agentMessage/delta');
    const output = await exec('--json', 'please KWSTREAM');
    const seen = events(output);
    threadId = seen.find((event) => event.type === 'thread.started')?.thread_id;
    expect(threadId, `no thread.started in:\n${output}`);
    expect(
      seen.some((event) => event.item?.text?.includes('w0 w1 ') && event.item.text.includes('w23')),
      `no whole text in:\n${output}`,
    );
    expect(
      seen.some((event) => event.type === 'turn.completed'),
      `no turn.completed in:\n${output}`,
    );
    const pieces = sent(scene, 'item/agentMessage/delta') - before;
    expect(pieces >= 3, `24 words, 60 ms apart, came in ${pieces} deltas`);
  });
  await step('resume goes on with the thread', async () => {
    const output = await exec('resume', threadId, 'and once more');
    expect(output.includes('Reply to: and once more'), `no answer in its output:\n${output}`);
    const heard = scene.model.last.userTexts;
    expect(
      heard.some((text) => text.includes('please KWSTREAM')),
      `the model was not told the history: ${JSON.stringify(heard)}`,
    );
  });
  if (scene.socket !== undefined)
    await step('over the Unix socket', async () => {
      const output = await scene.run(
        'exec',
        '--skip-git-repo-check',
        '--remote',
        `unix://${scene.socket}`,
        'by socket',
      );
      expect(output.includes('Reply to: by socket'), `no answer in its output:\n${output}`);
    });
  await step('a wrong token is refused', async () => {
    const env = { ...scene.clientEnv(), WRONG: 'not-the-token' };
    const refused = await scene
      .runWith(
        env,
        'exec',
        '--skip-git-repo-check',
        '--remote',
        scene.relay.url,
        '--remote-auth-token-env',
        'WRONG',
        'hi',
      )
      .then(
        () => undefined,
        (error) => error.message,
      );
    expect(refused?.includes('401'), `expected a refusal with 401, got: ${refused ?? 'success'}`);
  });
}
