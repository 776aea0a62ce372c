// Which folders are being worked in.

import type { ThreadRegistry } from './registry.ts';

/** The folders that loaded threads work in. */
export function workspacesOf(registry: ThreadRegistry, tenant: string): string[] {
  return registry.loadedIds(tenant).flatMap((id) => {
    const settings = registry.find(tenant, id)?.meta.settings;
    return settings ? [settings.cwd, ...settings.workspaceRoots] : [];
  });
}
