// A backend as one client or thread sees it that has settings of its own.

import type { Backend, OwnSettings } from './backend.ts';

/** The same for somebody with settings of their own, as they are at the moment of a call. */
export function backendFor(backend: Backend, own: () => OwnSettings | undefined): Backend {
  const withOwn = () => {
    const settings = own();
    return settings === undefined ? {} : { own: settings };
  };
  return {
    ...backend,
    models: (query) => backend.models({ ...withOwn(), ...query }),
    run: (turn, tools, signal) => {
      // They may change while the turn runs.
      const request = {
        ...turn,
        ...withOwn(),
        get settings() {
          return turn.settings;
        },
      };
      return backend.run(request, tools, signal);
    },
  };
}
