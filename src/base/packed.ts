// Small texts as bytes that may be kept for long: close together, so that what is kept holds no memory but its own.

/** Bytes taken from the system at once: one text that is kept keeps as many, when others around it are soon forgotten. */
const BLOCK = 4 * 1024;
/** Texts that may need more have memory of their own. */
const MAX_PACKED = 2 * 1024;

let block = Buffer.alloc(0);
let used = 0;

/**
 * UTF-8 of the text, which nobody may change. `Buffer.from` would put it between values that are soon forgotten, whose memory it
 * would then keep.
 */
export function packed(text: string): Buffer {
  const most = text.length * 3;
  if (most > MAX_PACKED) return Buffer.from(text);
  if (used + most > block.length) {
    block = Buffer.allocUnsafeSlow(BLOCK);
    used = 0;
  }
  const start = used;
  used += block.write(text, start);
  return block.subarray(start, used);
}
