import type { Command, Option } from 'commander';
import type { CliContext } from './context.js';

/** Gives the words that may stand in a place; it must not fail and print nothing. */
export type Candidates = (context: CliContext) => Promise<readonly string[]>;

const forArguments = new WeakMap<Command, Candidates>();
const forOptions = new WeakMap<Option, Candidates>();

/** Tells what the operands of a command may be, for the shell's completion. */
export function completeArguments(command: Command, candidates: Candidates): Command {
  forArguments.set(command, candidates);
  return command;
}

/** Tells what the value of an option may be, for the shell's completion. */
export function completeOption(option: Option, candidates: Candidates): Option {
  forOptions.set(option, candidates);
  return option;
}

/** A word that fits, with its description. */
export interface Suggestion {
  readonly word: string;
  readonly description: string;
}

/** What may follow; `files` when the shell should offer file names. */
export interface Completion {
  readonly suggestions: readonly Suggestion[];
  readonly files: boolean;
}

/** Completes the last of `words`; those before it are complete. */
export async function complete(program: Command, words: readonly string[], context: CliContext): Promise<Completion> {
  const current = words.at(-1) ?? '';
  if (words.slice(0, -1).includes('--')) return { suggestions: [], files: true };
  let command = program;
  let pending: Option | undefined;
  let operands = 0;
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) {
      pending = undefined;
    } else if (word.startsWith('-')) {
      const option = findOption(command, word);
      pending = option?.required === true && !word.includes('=') ? option : undefined;
    } else {
      const child = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
      operands = child === undefined ? operands + 1 : 0;
      command = child ?? command;
    }
  }
  const [flag, value] = split(current);
  const assigned = value === undefined ? undefined : findOption(command, flag);
  if (pending !== undefined) return completeValue(pending, current, '', context);
  if (assigned !== undefined) return completeValue(assigned, value ?? '', `${flag}=`, context);
  if (current.startsWith('-')) return { suggestions: fitting(optionsOf(command), current), files: false };
  return completeOperand(command, operands, current, context);
}

/** The subcommands and what the operand at that place may be. */
async function completeOperand(
  command: Command,
  index: number,
  current: string,
  context: CliContext,
): Promise<Completion> {
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[index] ?? (last?.variadic === true ? last : undefined);
  const isNamed = argument !== undefined && (index === 0 || argument.variadic);
  const names = isNamed ? await (forArguments.get(command) ?? none)(context) : [];
  const children = index === 0 ? command.createHelp().visibleCommands(command) : [];
  const all = [
    ...children.map((child) => ({ word: child.name(), description: child.summary() || child.description() })),
    ...[...(argument?.argChoices ?? []), ...names].map((word) => ({ word, description: '' })),
  ];
  const takesFile = argument !== undefined && /path|file|folder/.test(argument.name());
  return { suggestions: fitting(all, current), files: takesFile };
}

async function completeValue(option: Option, start: string, prefix: string, context: CliContext): Promise<Completion> {
  const candidates = option.argChoices ?? (await (forOptions.get(option) ?? none)(context));
  const found = fitting(
    candidates.map((word) => ({ word, description: '' })),
    start,
  );
  return {
    suggestions: found.map(({ word, description }) => ({ word: `${prefix}${word}`, description })),
    files: candidates.length === 0 && !forOptions.has(option),
  };
}

function findOption(command: Command, word: string): Option | undefined {
  const [flag] = split(word);
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const found = at.options.find((option) => option.long === flag || option.short === flag);
    if (found !== undefined) return found;
  }
  return undefined;
}

function optionsOf(command: Command): Suggestion[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) =>
      [long, long === undefined ? short : undefined].flatMap((word) => (word ? [{ word, description }] : [])),
    );
}

function fitting(suggestions: readonly Suggestion[], start: string): Suggestion[] {
  return suggestions.filter(({ word }) => word.startsWith(start));
}

function split(word: string): readonly [flag: string, value: string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

const none: Candidates = () => Promise.resolve([]);
