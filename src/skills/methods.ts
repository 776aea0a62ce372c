// Skills by folder: which there are, which count, where else they are looked for, and that something has changed.

import { z } from 'zod';
import { schema } from '../model/schema.ts';
import { notification, request, unqueued } from '../rpc/declare.ts';

const SkillMetadata = schema(() =>
  z.object({
    name: z.string(),
    description: z.string(),
    shortDescription: z.string().optional(),
    /** Of its SKILL.md, links resolved. */
    path: z.string(),
    scope: z.enum(['user', 'repo', 'system', 'admin']),
    enabled: z.boolean(),
    pluginId: z.null(),
  }),
);

export const skillsList = request('skills/list', {
  params: () => z.object({ cwds: z.array(z.string()).max(256).nullish(), forceReload: z.boolean().nullish() }),
  result: () =>
    z.object({
      data: z.array(
        z.object({
          cwd: z.string(),
          skills: z.array(SkillMetadata()),
          errors: z.array(z.object({ path: z.string(), message: z.string() })),
        }),
      ),
    }),
  queue: unqueued,
  needs: 'none',
  mutates: false,
});

/** Exactly one of `path` and `name`. Written into the configuration file. */
export const skillsConfigWrite = request('skills/config/write', {
  params: () => z.object({ path: z.string().nullish(), name: z.string().nullish(), enabled: z.boolean() }),
  result: () => z.object({ effectiveEnabled: z.boolean() }),
  queue: () => ({ key: 'config' }),
  needs: 'config',
  mutates: 'effect',
});

/** Replaces those that were set before; they count for all clients until the server ends. */
export const skillsExtraRootsSet = request('skills/extraRoots/set', {
  params: () => z.object({ extraRoots: z.array(z.string()).max(32) }),
  result: () => z.object({}),
  queue: () => ({ key: 'skills' }),
  needs: 'config',
  mutates: 'effect',
});

export const skillsMethods = { skillsList, skillsConfigWrite, skillsExtraRootsSet };

/** Files below the roots of skills have changed: list them again. */
export const skillsChanged = notification('skills/changed', () => z.object({}));
