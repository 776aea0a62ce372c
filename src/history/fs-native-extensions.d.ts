// What is used of fs-native-extensions, which brings no types.

declare module 'fs-native-extensions' {
  /** False when another open file holds a lock in the range. A lock ends with the file that took it. */
  export function tryLock(fd: number, offset: number, length: number, options?: { readonly shared?: boolean }): boolean;
}
