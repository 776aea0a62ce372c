// The room as a whole: skills, the methods about them, and which clients are told that they have changed.

import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/close.ts';
import type { Log } from '../base/log.ts';
import { isBelow } from '../fs/containment.ts';
import type { Route } from '../rpc/router.ts';
import type { Sessions } from '../rpc/session.ts';
import { type SkillPlaces, Skills } from './catalogue.ts';
import { skillsHandlers } from './handlers.ts';
import { skillsChanged } from './methods.ts';
import { RootWatches } from './root-watches.ts';

export interface SkillsRoomParts extends SkillPlaces {
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
  readonly cwd: string;
}

export interface SkillsRoom extends Closable {
  readonly skills: Skills;
  readonly routes: Route[];
  /** Watches the roots that belong to no folder, from the first client on. */
  begin(): void;
}

export function createSkillsRoom(parts: SkillsRoomParts): SkillsRoom {
  const { config, sessions, clock, log, cwd } = parts;
  const skills = new Skills(parts);
  const tell = async (roots: readonly string[]) => {
    const { remote } = (await config.state()).config;
    const isOpen = (await Promise.all(roots.map((root) => isBelow(root, remote.roots)))).includes(true);
    for (const session of sessions) if (session.principal.isLocal || isOpen) session.notify(skillsChanged, {});
  };
  const changed = (roots: readonly string[]) =>
    void tell(roots).catch((error: unknown) => log.error({ err: error }, 'changed skills could not be told of'));
  const watches = new RootWatches({ clock, log, changed: (root) => changed([root]) });
  return {
    skills,
    routes: skillsHandlers({ skills, watches, config, cwd, changed }),
    begin: () => void watches.watch(skills.commonRoots),
    close: () => watches.close(),
  };
}
