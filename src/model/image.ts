// Images on their way to a model: what they are is told from their bytes, never from a name.

/** Bytes of one image; the largest that goes into the history and on to a provider. */
export const MAX_IMAGE_BYTES = 10 * 1024 * 1024;

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

/** The kinds that every provider takes; undefined: something else, or cut off in its beginning or, for PNG, in its end. */
export function imageTypeOf(bytes: Buffer): ImageType | undefined {
  const begins = (hex: string) => bytes.subarray(0, hex.length / 2).toString('hex') === hex;
  if (begins('89504e470d0a1a0a')) return isWholePng(bytes) ? 'image/png' : undefined;
  if (begins('ffd8ff')) return bytes.length > 125 ? 'image/jpeg' : undefined;
  if (begins('474946383761') || begins('474946383961'))
    return bytes.length > 13 && bytes.readUInt16LE(6) > 0 && bytes.readUInt16LE(8) > 0 ? 'image/gif' : undefined;
  if (begins('52494646') && bytes.length > 20 && bytes.toString('latin1', 8, 12) === 'WEBP') return 'image/webp';
  return undefined;
}

/** A header that gives a size, and the chunk that ends it. */
function isWholePng(bytes: Buffer): boolean {
  if (bytes.length < 45 || bytes.toString('latin1', 12, 16) !== 'IHDR') return false;
  return bytes.readUInt32BE(16) > 0 && bytes.readUInt32BE(20) > 0 && bytes.includes('IEND', 33, 'latin1');
}

/** The bytes as a data URL, or why they cannot be shown. */
export function imageUrlOf(bytes: Buffer): { readonly url: string } | { readonly problem: string } {
  if (bytes.length > MAX_IMAGE_BYTES) return { problem: `it has more than ${MAX_IMAGE_BYTES} bytes` };
  const type = imageTypeOf(bytes);
  if (type === undefined) return { problem: 'it is no PNG, JPEG, GIF or WebP image' };
  return { url: `data:${type};base64,${bytes.toString('base64')}` };
}

const DATA_URL = /^data:[^,]*;base64,/i;

/** An image by its URL as a model may be shown it: data is checked, what lies elsewhere is the provider's to fetch. */
export function checkedImageUrl(url: string): { readonly url: string } | { readonly problem: string } {
  if (/^https?:\/\//i.test(url)) return { url };
  const head = DATA_URL.exec(url.slice(0, 200));
  if (!head) return { problem: 'it is neither a data URL in base64 nor one of http' };
  return imageUrlOf(Buffer.from(url.slice(head[0].length), 'base64'));
}
