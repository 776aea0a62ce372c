// Reading JSON that somebody else wrote: what is missing or of another type reads as empty.

export type Loose = Readonly<Record<string, unknown>>;

export function recordOf(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** A whole number from 0 to `most`, whatever it was. */
export function countOf(value: unknown, most = 1e12): number {
  return Math.floor(Math.min(Math.max(numberOf(value), 0), most));
}

/** The value, or undefined where the text is no JSON. */
export function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
