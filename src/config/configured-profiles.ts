// A configured permission profile as a policy that commands can be held to, or why they cannot.

import type { HeldPolicy, ProfileRules } from '../model/policy.ts';
import { type FileRules, filesOf, type WorkspaceFiles, workspaceOf } from './profile-files.ts';
import { networkOf } from './profile-network.ts';
import { type Profile, ProfileFault, type Refuse } from './profile-tables.ts';

/** Throws a `ProfileFault` for what cannot be enforced: nothing is left out that would leave commands more. */
export function policyOfTable(profile: Profile): HeldPolicy {
  const refuse: Refuse = (what) => {
    throw new ProfileFault(`permissions profile \`${profile.id}\` cannot be enforced: ${what}`);
  };
  if (profile.allowsGitWrites) refuse('`allow_limited_git_writes` is not known here');
  const files = filesOf(profile, refuse);
  const inWorkspace = workspaceOf(profile.workspace, refuse);
  const { isOpen, rules: network } = networkOf(profile.network, refuse);
  const { denied, readOnly, named } = files;
  const { isReadOnly, write, denied: deniedInside, readOnly: keptInside } = inWorkspace;
  const workspace = { isReadOnly, write, readOnly: keptInside, denied: deniedInside };
  const rules: ProfileRules = {
    ...{ denied, readOnly, workspace, network },
    ...patternsOf(profile, files, inWorkspace),
    ...readableOf(files, inWorkspace, refuse),
  };
  if (files.write.length === 0 && isReadOnly && write.length === 0)
    return { type: 'readOnly', networkAccess: isOpen, rules };
  return {
    type: 'workspaceWrite',
    writableRoots: files.write,
    networkAccess: isOpen,
    excludeTmpdirEnvVar: named.tmpdir !== 'write',
    excludeSlashTmp: named.slash_tmp !== 'write',
    rules,
  };
}

function patternsOf(
  { scanDepth }: Profile,
  files: FileRules,
  { patterns: workspace }: WorkspaceFiles,
): Pick<ProfileRules, 'patterns'> {
  if (files.patterns.length + workspace.length === 0) return {};
  return { patterns: { denied: files.patterns, workspace, depth: scanDepth } };
}

/** Without a word about all of the disk only what is named can be read. */
function readableOf(
  { named, readOnly, isMinimal }: FileRules,
  { isReadable, read }: WorkspaceFiles,
  refuse: Refuse,
): Pick<ProfileRules, 'readable'> {
  if (named.root === 'read' || named.root === 'write') return {};
  if (!isMinimal && !readOnly.includes('/usr'))
    refuse('no program runs where it cannot read the system: let `:minimal` (or all of `:root`) be "read"');
  return { readable: { paths: readOnly, workspace: isReadable ? ['.'] : read, isMinimal } };
}
