import { PassThrough, Readable } from 'node:stream';
import type { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandEntries } from '../src/commands/index.js';
import { createContext } from '../src/context.js';
import { buildProgram, pathOf } from '../src/program.js';

let all: Command[] = [];

const below = (command: Command): Command[] => command.commands.flatMap((child) => [child, ...below(child)]);
const line = (command: Command): string => pathOf(command).join(' ');

beforeAll(async () => {
  const stdout = new PassThrough();
  const signal = new AbortController().signal;
  const world = { argv: [], env: {}, cwd: '/', stdin: Readable.from([]), stdout, stderr: stdout, signal, self: [] };
  all = below(await buildProgram(createContext(world), { everything: true })).filter((each) => each.name() !== 'help');
});

describe('the tree of commands', () => {
  it('has no name or alias twice', () => {
    const names = commandEntries.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('describes every command and every option', () => {
    expect(all.length).toBeGreaterThan(20);
    for (const command of all.filter((each) => !line(each).startsWith('__'))) {
      expect(command.description(), line(command)).not.toBe('');
      for (const option of command.createHelp().visibleOptions(command)) {
        expect(option.description, `${line(command)} ${option.flags}`).not.toBe('');
      }
    }
  });

  it('has --format where a result is printed', () => {
    // Text that is a file, a script, a log, a schema or a server's own words has one form; a group prints nothing itself.
    const others = /^(?:logs|completion|schema|proxy stdio|help|__)/;
    const leaves = all.filter((command) => command.commands.length === 0 && !others.test(line(command)));
    const without = leaves.filter((command) => !command.options.some(({ long }) => long === '--format'));
    expect(without.map(line)).toEqual([]);
  });

  it('takes the general options behind every command', () => {
    for (const command of all) {
      const longs = command.options.map(({ long }) => long);
      expect(longs, line(command)).toEqual(expect.arrayContaining(['--debug', '--quiet', '--no-color']));
    }
  });

  it('gives no short option two meanings within a command', () => {
    for (const command of all) {
      const shorts = command.options.flatMap(({ short }) => short ?? []);
      expect(new Set(shorts).size, line(command)).toBe(shorts.length);
    }
  });
});
