// Images that people hand to a turn and that the model looks at: what is checked, what is kept, and what the model is sent.

import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { localPrincipal, type Permission } from '../../src/auth/principal.ts';
import { type ModelServer, responses, startModelServer, stream } from '../harness/model-server.ts';
import { cleanUp, startApp, temporaryFolder } from '../harness/start-app.ts';
import { completed, itemsOf, runTurn, startThread, text } from '../harness/turns.ts';
import { PIXEL } from '../unit/agent/backends/turn.ts';

afterEach(cleanUp);

const REMOTE: ReadonlySet<Permission> = new Set(['thread:read', 'thread:write']);
const DOT = Buffer.from(PIXEL.slice(PIXEL.indexOf(',') + 1), 'base64');
const said = (words: string) =>
  stream([responses.created(), ...responses.message('m', [words]), responses.completed()]);
/** An answer that never ends. */
const hanging = stream([responses.created()], 'stall');
const called = (name: string, given: object) =>
  stream([responses.created(), responses.call('c1', name, given), responses.completed()]);

type Sent = { readonly type?: string; readonly role?: string; readonly content?: unknown; readonly output?: unknown };
const inputOf = (model: ModelServer, at: number) => model.requests[at]!.body.input as readonly Sent[];
const words = (sent: readonly Sent[]) => JSON.stringify(sent);

async function started(config: object = {}) {
  const model = await startModelServer();
  const server = await startApp({ backend: model, config: { ...config } });
  const client = await server.connect({ experimentalApi: true });
  const threadId = await startThread(client, { cwd: server.workspace });
  const turn = async (input: object[]) => {
    const { turn } = await client.request('turn/start', { threadId, input });
    return completed(client, turn.id);
  };
  return { model, server, client, threadId, turn };
}

describe('input', () => {
  test('a mention reaches the model with its path', async () => {
    const { model, turn } = await started();
    model.script(said('seen'));
    await turn([{ type: 'mention', name: 'f', path: '/somewhere/f.ts' }, ...text('look')]);
    expect(words(inputOf(model, 0))).toContain('[mention: f, at /somewhere/f.ts]');
  });

  test.each([
    ['audio', { type: 'audio', url: 'data:audio/wav;base64,AAAA' }],
    ['localAudio', { type: 'localAudio', path: '/somewhere/a.wav' }],
  ])('%s is refused, as no model is given any', async (_type, part) => {
    const { client, threadId } = await started();
    const refused = await client.refusal('turn/start', { threadId, input: [part, ...text('listen')] });
    expect(refused).toMatchObject({
      code: -32602,
      data: { input_error_code: 'unsupported_modality', modality: 'audio' },
    });
  });

  test('a file is shown as it was when the turn began, in later turns too', async () => {
    const { model, server, client, threadId, turn } = await started();
    const path = join(server.workspace, 'dot.png');
    await writeFile(path, DOT);
    model.script(said('one'), said('two'));
    await turn([{ type: 'localImage', path }]);
    await rm(path);
    await runTurn(client, threadId, 'and now?');
    for (const at of [0, 1]) {
      expect(inputOf(model, at)).toContainEqual(
        expect.objectContaining({ content: [{ type: 'input_image', image_url: PIXEL, detail: 'auto' }] }),
      );
    }
    expect((await itemsOf(client, threadId))[0]).toMatchObject({ content: [{ type: 'localImage', path }] });
  });

  test('a large file goes as it is, one that is larger than that is told in words', async () => {
    const { model, server, turn } = await started();
    const path = join(server.workspace, 'photo.jpg');
    const photo = Buffer.alloc(10 * 2 ** 20, 1);
    photo.set([0xff, 0xd8, 0xff]);
    await writeFile(path, photo);
    model.script(said('one'), said('two'));
    await turn([{ type: 'localImage', path }]);
    expect(words(inputOf(model, 0))).toContain(`data:image/jpeg;base64,${photo.toString('base64')}`);
    await writeFile(path, Buffer.concat([photo, photo.subarray(0, 1)]));
    await turn([{ type: 'localImage', path }]);
    expect(words(inputOf(model, 1).slice(-1))).toContain('has more than 10485760 bytes');
  });

  test.each([
    ['that is missing', undefined, /No such file or directory/],
    ['of text', Buffer.from('hello'), /no PNG, JPEG, GIF or WebP/],
    ['that is cut off', DOT.subarray(0, 40), /no PNG/],
  ])('a file %s is told to the model in words, and the turn goes on', async (_, bytes, told) => {
    const { model, server, turn } = await started();
    const path = join(server.workspace, 'x.png');
    if (bytes) await writeFile(path, bytes);
    model.script(said('ok'));
    expect(await turn([{ type: 'localImage', path }])).toMatchObject({ status: 'completed' });
    expect(words(inputOf(model, 0))).toMatch(told);
    expect(words(inputOf(model, 0))).not.toContain('input_image');
  });

  test('data that is no image is told in words; what lies elsewhere is the provider’s to fetch', async () => {
    const { model, turn } = await started();
    model.script(said('ok'));
    await turn([
      { type: 'image', url: 'data:image/png;base64,aGVsbG8=' },
      { type: 'image', url: 'https://images.example/a.png' },
    ]);
    expect(words(inputOf(model, 0))).toContain('an image that cannot be shown');
    expect(words(inputOf(model, 0))).toContain('"image_url":"https://images.example/a.png"');
    expect(words(inputOf(model, 0))).not.toContain('aGVsbG8=');
  });

  test('an image of earlier stands in words for a model that takes none', async () => {
    const model = await startModelServer(
      said('a dot'),
      called('view_image', { path: 'dot.png' }),
      said('yes'),
      said('no'),
    );
    const models = { seeing: { modalities: ['text', 'image'] }, blind: { modalities: ['text'] } };
    const server = await startApp({
      backend: model,
      config: { model_providers: { scripted: { base_url: model.baseUrl, models } } },
    });
    await writeFile(join(server.workspace, 'dot.png'), DOT);
    const client = await server.connect({ experimentalApi: true });
    const threadId = await startThread(client, { cwd: server.workspace, model: 'seeing' });
    const image = { type: 'image', url: PIXEL };
    for (const input of [[...text('what is this?'), image], text('and in the file?')]) {
      const { turn } = await client.request('turn/start', { threadId, input });
      await completed(client, turn.id);
    }
    const { turn } = await client.request('turn/start', { threadId, model: 'blind', input: text('still there?') });
    expect((await completed(client, turn.id)).status).toBe('completed');
    expect(words(inputOf(model, 2)).match(/input_image/g)).toHaveLength(2);
    expect(words(inputOf(model, 3))).not.toContain('input_image');
    expect(words(inputOf(model, 3)).match(/an image is left out here/g)).toHaveLength(2);
    expect(words(inputOf(model, 3))).toContain('what is this?');
  });

  test('an image for a model that takes none is refused, with any way in', async () => {
    const model = await startModelServer(said('ok'));
    const blind = await startApp({
      backend: model,
      config: {
        model_providers: {
          scripted: { base_url: model.baseUrl, models: { 'scripted-model': { modalities: ['text'] } } },
        },
      },
    });
    const other = await blind.connect({ experimentalApi: true });
    const id = await startThread(other, { cwd: blind.workspace });
    const input = [{ type: 'image', url: PIXEL }];
    const refusals = [
      await other.refusal('turn/start', { threadId: id, input }),
      await other.refusal('thread/queue/add', { threadId: id, input, clientUserMessageId: 'x' }),
    ];
    for (const refusal of refusals) {
      expect(refusal.message).toContain('the model scripted-model takes no images');
      expect(refusal.data).toMatchObject({ input_error_code: 'unsupported_modality', modality: 'image' });
    }
    await runTurn(other, id, 'hi');
    const offered = (model.requests.at(-1)!.body.tools as { name: string }[]).map(({ name }) => name);
    expect(offered).not.toContain('view_image');
  });
});

test('an image that steers a turn reaches the model, and one of a remote client only from below its roots', async () => {
  const folder = await temporaryFolder();
  const [inside, outside] = [join(folder, 'dot.png'), join(await temporaryFolder(), 'dot.png')];
  for (const path of [inside, outside]) await writeFile(path, DOT);
  const model = await startModelServer(hanging, said('seen'), said('seen too'));
  const server = await startApp({ backend: model, config: { remote: { roots: [folder] } } });
  const client = await server.connectAs(
    { ...localPrincipal, isLocal: false, permissions: REMOTE },
    { experimentalApi: true },
  );
  const threadId = await startThread(client, { cwd: folder });
  const { turn } = await client.request('turn/start', { threadId, input: text('wait') });
  await model.received(1);
  const steer = (path: string) => ({ threadId, expectedTurnId: turn.id, input: [{ type: 'localImage', path }] });
  expect((await client.refusal('turn/steer', steer(outside))).data.kind).toBe('forbidden');
  await client.request('turn/steer', steer(inside));
  await completed(client, turn.id);
  expect(words(inputOf(model, 1))).toContain(PIXEL);
});

test('a remote client hands no image that the default profile denies to every thread, also by a link', async () => {
  const model = await startModelServer();
  const folder = await temporaryFolder();
  for (const name of ['dot.key', 'dot.png']) await writeFile(join(folder, name), DOT);
  await symlink('dot.png', join(folder, 'link.key'));
  const filesystem = { ':root': 'read', ':workspace_roots': { '**/*.key': 'deny' } };
  const server = await startApp({
    backend: model,
    config: { remote: { roots: [folder] }, default_permissions: 'mine', permissions: { mine: { filesystem } } },
  });
  const somebody = { ...localPrincipal, isLocal: false, permissions: REMOTE };
  const client = await server.connectAs(somebody, { experimentalApi: true });
  const threadId = await startThread(client, { cwd: folder, permissions: 'mine' });
  const input = (name: string) => ({ threadId, input: [{ type: 'localImage', path: join(folder, name) }] });
  for (const name of ['dot.key', 'link.key'])
    expect((await client.refusal('turn/start', input(name))).data.kind).toBe('forbidden');
  model.script(said('a dot'));
  const { turn } = await client.request('turn/start', input('dot.png'));
  await completed(client, turn.id);
  expect(words(inputOf(model, 0))).toContain(PIXEL);
});

describe('view_image', () => {
  test('shows the model a file, and people an item', async () => {
    const { model, server, client, threadId, turn } = await started();
    await writeFile(join(server.workspace, 'dot.png'), DOT);
    model.script(called('view_image', { path: 'dot.png' }), said('a dot'));
    await turn(text('look'));
    expect(inputOf(model, 1)).toContainEqual({
      ...{ type: 'function_call_output', call_id: 'c1' },
      output: [{ type: 'input_image', image_url: PIXEL }],
    });
    const item = (await itemsOf(client, threadId)).find(({ type }) => type === 'imageView');
    expect(item).toMatchObject({ id: 'c1', path: join(server.workspace, 'dot.png') });
  });

  test.each([
    ['is missing', 'no.png', /No such file or directory/],
    ['is no image', 'text.png', /no PNG, JPEG, GIF or WebP/],
    ['is a folder', 'folder', /not a file/],
    ['is a way into the data directory', 'sly.png', /out of reach/],
    ['is a device', '/dev/zero', /out of reach/],
  ])('a path that %s is told to the model alone', async (_, path, told) => {
    const { model, server, client, threadId, turn } = await started();
    await writeFile(join(server.workspace, 'text.png'), 'hello');
    await mkdir(join(server.workspace, 'folder'));
    await symlink(join(server.dataDirectory, 'config.yaml'), join(server.workspace, 'sly.png'));
    model.script(called('view_image', { path }), said('ok'));
    await turn(text('look'));
    expect(words(inputOf(model, 1))).toMatch(told);
    expect((await itemsOf(client, threadId)).map(({ type }) => type)).toEqual(['userMessage', 'agentMessage']);
  });

  test('in a turn of a remote client nothing outside its roots is shown, wherever links lead', async () => {
    const folder = await temporaryFolder();
    const secret = join(await temporaryFolder(), 'secret.png');
    await writeFile(secret, DOT);
    await writeFile(join(folder, 'open.png'), DOT);
    await symlink(secret, join(folder, 'sly.png'));
    const paths = ['open.png', 'sly.png', secret];
    const calls = paths.map((path, at) => responses.call(`c${at}`, 'view_image', { path }));
    const model = await startModelServer(stream([responses.created(), ...calls, responses.completed()]), said('ok'));
    const server = await startApp({ backend: model, config: { remote: { roots: [folder] } } });
    const client = await server.connectAs({ ...localPrincipal, isLocal: false, permissions: REMOTE });
    await runTurn(client, await startThread(client, { cwd: folder }), 'look');
    const outputs = inputOf(model, 1).filter(({ type }) => type === 'function_call_output');
    expect(outputs.map(({ output }) => output)).toEqual([
      [{ type: 'input_image', image_url: PIXEL }],
      expect.stringContaining('out of reach'),
      expect.stringContaining('out of reach'),
    ]);
  });

  test('a thread without an environment has no files to look at', async () => {
    const { model, client } = await started();
    const id = await startThread(client, { environments: [] });
    model.script(called('view_image', { path: '/tmp/x.png' }), said('ok'));
    await runTurn(client, id, 'look');
    expect(words(inputOf(model, 1))).toContain('no environment');
  });
});
