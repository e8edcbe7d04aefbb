import { spawn } from 'node:child_process';
import { SkillsLockError } from '../errors.js';

/** How {@link runGit} starts the program. */
export interface GitRunOptions {
  /** Settings that only this run has; they travel in the environment, so that no token shows in a process list. */
  readonly config?: readonly (readonly [string, string])[];
  readonly gitDir?: string;
  /** Bytes for standard input. */
  readonly input?: string;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  /** Called about five times a second; answers why the run must end, or `undefined`. */
  readonly watch?: () => Promise<string | undefined>;
  readonly signal?: AbortSignal;
  /** @defaultValue 'git' */
  readonly program?: string;
  /** `PATH` and proxies for the program. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const WATCH_MS = 200;
const PASSED = [
  'PATH',
  'HTTPS_PROXY',
  'https_proxy',
  'NO_PROXY',
  'no_proxy',
  'SSL_CERT_FILE',
  'GIT_SSL_CAINFO',
  'SystemRoot',
  'TMPDIR',
];

/** Settings that keep foreign repositories from running anything or reaching other places. */
const HARDENED: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['protocol.allow', 'never'],
  ['http.followRedirects', 'false'],
  ['transfer.fsckObjects', 'true'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['fetch.recurseSubmodules', 'false'],
];

/**
 * Runs git without prompts, hooks, filters, helpers or the user's settings.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_UNREACHABLE` with git's last line, or `ERR_SKILLS_LOCK_TIMEOUT`.
 */
export async function runGit(args: readonly string[], options: GitRunOptions): Promise<Buffer> {
  const { signal, program = 'git' } = options;
  signal?.throwIfAborted();
  const child = spawn(program, [...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: environment(options),
    detached: process.platform !== 'win32',
  });
  const output: Buffer[] = [];
  let size = 0;
  let stderr = '';
  let stopped: Error | undefined;
  const stop = (error: Error) => {
    stopped ??= error;
    killGroup(child.pid);
  };
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > options.maxOutputBytes) stop(tooLarge(options.maxOutputBytes));
    else output.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-4096);
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const timer = setTimeout(() => stop(timedOut(args, options.timeoutMs)), options.timeoutMs);
  const watcher = options.watch && setInterval(() => void watchOnce(options.watch, stop), WATCH_MS);
  const onAbort = () => stop(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (stopped) throw stopped;
    if (code !== 0) throw failed(args, stderr);
    return Buffer.concat(output);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_UNREACHABLE',
        `The program ${JSON.stringify(program)} was not found; install git 2.37 or later`,
        { cause: error },
      );
    }
    throw error;
  } finally {
    clearTimeout(timer);
    clearInterval(watcher);
    signal?.removeEventListener('abort', onAbort);
  }
}

function environment(options: GitRunOptions): Record<string, string> {
  const settings = [...HARDENED, ...(options.config ?? [])];
  const env: Record<string, string> = {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    LC_ALL: 'C',
    GIT_CONFIG_COUNT: String(settings.length),
  };
  if (options.gitDir !== undefined) env.GIT_DIR = options.gitDir;
  settings.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  for (const name of PASSED) {
    const value = options.env?.[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

async function watchOnce(
  watch: (() => Promise<string | undefined>) | undefined,
  stop: (error: Error) => void,
): Promise<void> {
  const why = await watch?.().catch(() => undefined);
  if (why !== undefined) stop(new SkillsLockError('ERR_SKILLS_LOCK_INVALID_SKILL', why));
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It ended by itself in the meantime.
  }
}

const tooLarge = (limit: number) =>
  new SkillsLockError(
    'ERR_SKILLS_LOCK_INVALID_SKILL',
    `The repository answered more than ${limit} bytes; a skill must be smaller`,
  );

const timedOut = (args: readonly string[], timeoutMs: number) =>
  new SkillsLockError(
    'ERR_SKILLS_LOCK_TIMEOUT',
    `git ${args[0] ?? ''} did not finish within ${timeoutMs / 1000} s; try again, or raise the limit`,
  );

function failed(args: readonly string[], stderr: string): SkillsLockError {
  const line =
    stderr
      .trim()
      .split('\n')
      .findLast((text) => text.trim() !== '') ?? 'no message';
  const unauthorized =
    /could not read Username|Authentication failed|terminal prompts disabled|HTTP 40[13]|error: 40[13]/.test(stderr);
  return new SkillsLockError(
    unauthorized ? 'ERR_SKILLS_LOCK_UNAUTHORIZED' : 'ERR_SKILLS_LOCK_UNREACHABLE',
    `git ${args[0] ?? ''} failed: ${line}${unauthorized ? '. Set GITHUB_TOKEN, GITLAB_TOKEN or GIT_TOKEN for a private repository' : ''}`,
    { details: { stderr } },
  );
}
