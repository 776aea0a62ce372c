// The wait that a provider's error message asks for in words.

const HINT = /try again in\s+(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|minutes?)\b/i;

/** Milliseconds, or undefined where the message has no such hint. */
export function hintedDelayMs(message: string): number | undefined {
  const match = HINT.exec(message);
  if (!match) return undefined;
  const unit = match[2]?.toLowerCase() ?? 's';
  const factor = unit.startsWith('ms') || unit.startsWith('mil') ? 1 : unit.startsWith('m') ? 60_000 : 1000;
  return Number(match[1]) * factor;
}
