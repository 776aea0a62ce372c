// What `lmdb` exports without declaring it.

import 'lmdb';

declare module 'lmdb' {
  /** The bytes of a key as the database orders them. */
  export function keyValueToBuffer(key: Key): Buffer;
  export function bufferToKeyValue(bytes: Uint8Array): Key;
}
