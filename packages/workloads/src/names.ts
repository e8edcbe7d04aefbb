import { basename } from 'node:path';
import { WorkloadsError } from './errors.js';

const maxLength = 100;
const workloadForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const groupForm = /^[a-z0-9_-]+(?: [a-z0-9_-]+)*$/;

/**
 * Checks the name of a workload: letters, digits, `.`, `_` and `-`, a letter or digit first, at most 100 characters.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_NAME`
 */
export function checkWorkloadName(name: string): void {
  if (name.length <= maxLength && workloadForm.test(name)) return;
  const suggestion = slug(name);
  throw new WorkloadsError(
    'ERR_WORKLOADS_NAME',
    `"${name}" is no name for a server: use letters, digits, ".", "_" and "-", a letter or digit first, at most ${maxLength} characters`,
    { details: { hint: suggestion === '' ? 'choose another name with --name' : `--name ${suggestion}` } },
  );
}

/**
 * Checks the name of a group: small letters, digits, `_`, `-` and single spaces inside, at most 100 characters.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_NAME`
 */
export function checkGroupName(name: string): void {
  if (name.length <= maxLength && groupForm.test(name)) return;
  const problem = name === '' ? 'group name cannot be empty' : `invalid group name "${name}"`;
  const suggestion = slug(name).toLowerCase().replaceAll('.', '-');
  throw new WorkloadsError(
    'ERR_WORKLOADS_NAME',
    `${problem}: use small letters, digits, "_", "-" and single spaces inside, at most ${maxLength} characters`,
    { details: { hint: suggestion === '' ? 'choose another name' : `name it ${suggestion}` } },
  );
}

const runners = new Map<string, ReadonlySet<string>>([
  ['npx', new Set(['-p', '--package', '-c', '--call'])],
  ['bunx', new Set()],
  ['uvx', new Set(['--from', '--with', '-p', '--python', '--index', '--index-url'])],
  ['pipx', new Set(['--spec', '--python'])],
]);

/** The package that a command runs, as `list` shows it: `npx @scope/server`, `node server.js`, `server`. */
export function describeCommand(command: string, args: readonly string[]): string {
  const program = basename(command).replace(/\.(?:exe|cmd|bat)$/i, '');
  const target = firstOperand(program, args);
  if (target === undefined) return program;
  // The name of a package has slashes too; a path is shown by its last part.
  const isPackage = runners.has(program) && !/^[.]{0,2}[/\\]/.test(target);
  return `${program} ${isPackage ? target : basename(target)}`;
}

/** A name for a workload from its command, without the version and scope of a package; always valid. */
export function suggestName(command: string, args: readonly string[]): string {
  const program = basename(command).replace(/\.(?:exe|cmd|bat)$/i, '');
  const target = firstOperand(program, args) ?? program;
  const unversioned = target.replace(/(?<=.)[@=].*$/, '');
  return slug(basename(unversioned).replace(/\.(?:[cm]?[jt]s|py|rb|sh)$/, '')) || slug(program) || 'server';
}

/** The first free name among `name`, `name-2`, `name-3`, … */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name.slice(0, maxLength - 8)}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function firstOperand(program: string, args: readonly string[]): string | undefined {
  if (program === 'sh' || program === 'bash' || program === 'cmd') return undefined;
  const withValue = runners.get(program) ?? new Set();
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index] ?? '';
    if (withValue.has(word)) {
      if (word === '--package' || word === '-p' || word === '--from' || word === '--spec') return args[index + 1];
      index += 1;
    } else if (!word.startsWith('-') && !(program === 'pipx' && word === 'run')) {
      return word;
    }
  }
  return undefined;
}

function slug(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .replace(/[^A-Za-z0-9]+$/, '')
    .slice(0, maxLength);
}
