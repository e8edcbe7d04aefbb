import { InvalidArgumentError, Option } from 'commander';
import { didYouMean } from './suggest.js';

/** An option whose value is one of a few words; another word is refused with the closest of them. */
export function choiceOption<T extends string>(
  flags: string,
  description: string,
  choices: readonly T[],
  fallback?: T,
): Option {
  const option = new Option(flags, description).argParser((value: string): T => {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Expected one of ${choices.join(', ')}${didYouMean(value, choices)}.`);
  });
  // The completion reads them; commander's own check has no suggestion.
  option.argChoices = [...choices];
  return fallback === undefined ? option : option.default(fallback);
}

/** `--format`, on every command that prints a result. */
export function formatOption(): Option {
  return choiceOption('--format <format>', 'Output format', ['text', 'json'], 'text');
}

/** Parses a whole number within limits, for `argParser`. */
export function integerParser(minimum: number, maximum: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= minimum && number <= maximum) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${minimum} to ${maximum}.`);
  };
}

/** Collects the values of an option that may be given several times. */
export function collect(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}
