// An image that is nearly as large as one may be.

/** 9 MiB that begin and end as a PNG does. */
export function largeImage(): Buffer {
  const bytes = Buffer.alloc(9 * 1024 * 1024);
  Buffer.from('89504e470d0a1a0a', 'hex').copy(bytes);
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(1, 16);
  bytes.writeUInt32BE(1, 20);
  bytes.write('IEND', bytes.length - 8, 'latin1');
  return bytes;
}
