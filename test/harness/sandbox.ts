import { createChildren } from '../../src/children/spawn.ts';
import { runsToEnd } from '../../src/process/to-end.ts';
import { createSandboxProbe, type SandboxState } from '../../src/sandbox/probe.ts';

/** Whether commands can be confined here, found out by trying. */
export async function trySandbox(platform?: NodeJS.Platform): Promise<SandboxState> {
  const children = createChildren();
  try {
    return await createSandboxProbe(runsToEnd(children), platform)();
  } finally {
    await children.close();
  }
}
