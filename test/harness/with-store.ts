// A history whose store does some things in another way: slower, or not at all.

import type { History, ThreadStore } from '../../src/history/store.ts';

/** Each takes the real store before the arguments of the method it stands for. */
export type Instead = {
  readonly [K in keyof ThreadStore]?: ThreadStore[K] extends (...args: infer A) => infer R
    ? (store: ThreadStore, ...args: A) => R
    : never;
};

export function withStore(history: History, instead: Instead): History {
  const known = new Map<string, ThreadStore>();
  return {
    forTenant(tenant) {
      const store = known.get(tenant) ?? changed(history.forTenant(tenant), instead);
      known.set(tenant, store);
      return store;
    },
    close: () => history.close(),
  };
}

function changed(store: ThreadStore, instead: Instead): ThreadStore {
  return new Proxy(store, {
    get(target, name) {
      const other = (instead as Record<PropertyKey, ((...args: unknown[]) => unknown) | undefined>)[name];
      if (other) return (...args: unknown[]) => other(target, ...args);
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
