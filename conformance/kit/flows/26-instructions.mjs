import path from 'node:path';
import { FULL } from '../context.mjs';
import { say } from '../model.mjs';

/** In which order the model gets to see these words, wherever they stand in its request. */
const order = (model, words) => {
  const text = JSON.stringify(model.last.body);
  return words.filter((word) => text.includes(word)).sort((a, b) => text.indexOf(a) - text.indexOf(b));
};

const one = (name, files, words, settings = {}) => ({
  name,
  area: 'runtime',
  settings,
  async run(ctx) {
    for (const [file, text] of Object.entries(files)) ctx.write(file, text);
    const sub = path.join(ctx.place.workspace, 'sub');
    const c = await ctx.thread({ ...FULL, cwd: sub });
    await ctx.step('a turn');
    ctx.model.script(say('ok'));
    await c.turn(c.threadId, 'hi');
    ctx.fact('the model sees', order(ctx.model, words));
  },
});

const WORDS = ['from the root', 'from the folder', 'instead of the folder', 'from above', 'from below'];

export const cases = [
  one('nearest-last', { '.git/HEAD': 'ref: x\n', 'AGENTS.md': 'from the root', 'sub/AGENTS.md': 'from the folder', 'sub/deeper/AGENTS.md': 'from below' }, WORDS),
  one('an-override', { '.git/HEAD': 'ref: x\n', 'AGENTS.md': 'from the root', 'sub/AGENTS.md': 'from the folder', 'sub/AGENTS.override.md': 'instead of the folder' }, WORDS),
  one('no-repository', { 'AGENTS.md': 'from the root', 'sub/AGENTS.md': 'from the folder' }, WORDS),
  one('an-empty-file', { '.git/HEAD': 'ref: x\n', 'AGENTS.md': 'from the root', 'sub/AGENTS.md': '  \n' }, WORDS),
  {
    name: 'too-long',
    area: 'runtime',
    async run(ctx) {
      ctx.write('AGENTS.md', `${'x'.repeat(40_000)} the very last words`);
      const c = await ctx.thread(FULL);
      await ctx.step('a turn');
      ctx.model.script(say('ok'));
      await c.turn(c.threadId, 'hi');
      ctx.fact('the model sees the end', JSON.stringify(ctx.model.last.body).includes('the very last words'));
    },
  },
  {
    name: 'read-again',
    area: 'runtime',
    async run(ctx) {
      ctx.write('AGENTS.md', 'first wording');
      const c = await ctx.thread(FULL);
      await ctx.step('turns around a change');
      ctx.model.script(say('ok'), say('ok'));
      await c.turn(c.threadId, 'hi');
      ctx.write('AGENTS.md', 'second wording');
      await c.turn(c.threadId, 'hi again');
      ctx.fact('the model sees', order(ctx.model, ['first wording', 'second wording']));
    },
  },
];
