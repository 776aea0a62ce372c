// The words of the protocol for the platform this process runs on.

import { release } from 'node:os';

export interface Platform {
  readonly family: 'unix' | 'windows';
  /** `linux`, `macos`, `windows`, or the system's own name. */
  readonly os: string;
  /** Name and version for people. */
  readonly name: string;
  readonly architecture: string;
}

const SYSTEMS: Readonly<Record<string, { readonly os: string; readonly name: string }>> = {
  linux: { os: 'linux', name: 'Linux' },
  darwin: { os: 'macos', name: 'Mac OS' },
  win32: { os: 'windows', name: 'Windows' },
};

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'x86_64', ia32: 'x86' };

export function platformOf(platform: NodeJS.Platform, architecture: string): Platform {
  const system = SYSTEMS[platform] ?? { os: platform, name: platform };
  return {
    family: platform === 'win32' ? 'windows' : 'unix',
    os: system.os,
    name: `${system.name} ${release()}`,
    architecture: ARCHITECTURES[architecture] ?? architecture,
  };
}
