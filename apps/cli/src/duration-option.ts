import { parseDuration } from '@thv/transport';
import { InvalidArgumentError } from 'commander';

/** Reads a positive duration in Go's grammar (`30s`, `1h30m`) as milliseconds, for `argParser`. */
export function durationParser(text: string): number {
  const milliseconds = readDuration(text);
  if (milliseconds > 0) return milliseconds;
  throw new InvalidArgumentError('Expected a duration above zero, for example 30s or 2m.');
}

/** Checks a positive duration and gives the text back: configurations keep what the user wrote. */
export function durationText(text: string): string {
  durationParser(text);
  return text;
}

function readDuration(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    throw new InvalidArgumentError('Expected a duration such as 30s, 1h30m or 500ms.');
  }
}
