import { access, mkdir, writeFile } from 'node:fs/promises';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { acquireIdentityToken, isSkillName, printable, signInWithBrowser } from '@thv/skills-lock';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { exitCodes } from '../../exit.js';
import { formatTable } from '../../output/table.js';
import { confirm } from '../../prompt.js';
import { withSkills } from './open-service.js';

type Format = 'text' | 'json';

const absolute = (context: CliContext, path: string): string => (isAbsolute(path) ? path : resolve(context.cwd, path));

/** `thv skill init`: a folder with a SKILL.md that is valid as it is. */
export async function initSkill(
  path: string,
  { format }: { readonly format: Format },
  context: CliContext,
): Promise<void> {
  const folder = absolute(context, path);
  const name = basename(folder);
  if (!isSkillName(name)) {
    throw new CliError(
      'ERR_CLI_USAGE',
      `"${name}" is no skill name: 2 to 64 lower-case letters, digits and single hyphens`,
      { hint: 'thv skill init my-skill' },
    );
  }
  const file = join(folder, 'SKILL.md');
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (exists)
    throw new CliError('ERR_CLI_FILE', `${file} exists already`, { hint: `thv skill validate ${path}`, file });
  await mkdir(folder, { recursive: true });
  await writeFile(file, template(name), { flag: 'wx' });
  if (format === 'json') context.json({ name, path: file });
  else context.out(`Created ${file}`);
  context.note(`Next: edit it, then "thv skill validate ${path}"`);
}

const template = (name: string): string => `---
name: ${name}
description: >-
  Says in one or two sentences what this skill does and when to use it; an assistant reads only this to decide.
version: 0.1.0
license: Apache-2.0
---

# ${name}

Instructions for the assistant: what to do, in which order, and what the result looks like.
`;

/** `thv skill validate`: diagnostics on stdout as `path:line:column`, exit code 1 when the skill is not valid. */
export async function validateSkill(
  path: string,
  { format, strict }: { readonly format: Format; readonly strict?: boolean },
  context: CliContext,
): Promise<void> {
  const folder = absolute(context, path);
  const verdict = await withSkills(context, (service) =>
    service.validate({ path: folder, strict: strict ?? false }, { signal: context.signal }),
  );
  if (!verdict.valid) context.exitCode = exitCodes.error;
  if (format === 'json') return context.json(verdict);
  const line = (kind: string) => (text: string) =>
    context.out(printable(`${join(path, text)}`.replace(/^(.*?:\d+(?::\d+)?:|[^:]+:)/, `$1 ${kind}`)));
  verdict.errors?.forEach(line('error'));
  verdict.warnings?.forEach(line('warning'));
  const errors = verdict.errors?.length ?? 0;
  const warnings = verdict.warnings?.length ?? 0;
  const counts = `${errors} ${errors === 1 ? 'error' : 'errors'}, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`;
  context.out(verdict.valid ? `Skill is valid${warnings > 0 ? ` (${counts})` : ''}` : `Skill is not valid (${counts})`);
}

/** `thv skill build` */
export async function buildSkill(
  path: string,
  { format, tag }: { readonly format: Format; readonly tag?: string },
  context: CliContext,
): Promise<void> {
  const result = await withSkills(context, (service) =>
    service.build({ path: absolute(context, path), ...(tag === undefined ? {} : { tag }) }, { signal: context.signal }),
  );
  if (format === 'json') context.json(result);
  else context.out(result.reference);
}

export interface PushFlags {
  readonly key?: string;
  readonly identityToken?: string;
  /** `--no-sign` */
  readonly sign: boolean;
  readonly format: Format;
}

/** `thv skill push`: the token is found before anything is sent. */
export async function pushSkill(reference: string, flags: PushFlags, context: CliContext): Promise<void> {
  const unsigned = !flags.sign;
  const identityToken = await acquireIdentityToken({
    ...(flags.identityToken === undefined ? {} : { token: flags.identityToken }),
    skip: flags.key !== undefined || unsigned,
    env: context.env,
    signal: context.signal,
    ...(context.stdin.isTTY
      ? {
          confirm: () => confirm('Sign keylessly, through a sign-in in your browser? [y/N]: ', context),
          signIn: ({ signal }: { readonly signal?: AbortSignal }) =>
            signInWithBrowser({
              open: (url) => context.warn(`Open this address to sign in:\n${url}`),
              ...(signal ? { signal } : {}),
            }),
        }
      : {}),
  });
  await withSkills(context, (service) =>
    service.push(
      {
        reference,
        ...(flags.key === undefined ? {} : { key: absolute(context, flags.key) }),
        ...(identityToken === undefined ? {} : { identity_token: identityToken }),
        ...(unsigned ? { no_sign: true } : {}),
      },
      { signal: context.signal },
    ),
  );
  if (flags.format === 'json') context.json({ reference, signed: !unsigned });
  else context.out(printable(`Pushed ${reference}${unsigned ? ' (unsigned)' : ''}`));
}

/** `thv skill builds` */
export async function listBuilds({ format }: { readonly format: Format }, context: CliContext): Promise<void> {
  const builds = await withSkills(context, (service) => service.builds({ signal: context.signal }));
  if (format === 'json') return context.json(builds);
  if (builds.length === 0) return context.out('No locally-built skill artifacts found');
  context.write(
    formatTable(
      ['TAG', 'DIGEST', 'NAME', 'VERSION'],
      builds.map(({ tag, digest, name = '', version = '' }) => [tag, digest.slice(0, 19), name, version]),
    ),
  );
}

/** `thv skill builds remove` */
export async function removeBuild(
  tag: string,
  { format }: { readonly format: Format },
  context: CliContext,
): Promise<void> {
  await withSkills(context, (service) => service.removeBuild(tag, { signal: context.signal }));
  if (format === 'json') context.json({ tag, result: 'removed' });
  else context.out(printable(`Removed build ${tag}`));
}

/** `thv skill content` */
export async function showContent(
  reference: string,
  { format }: { readonly format: Format },
  context: CliContext,
): Promise<void> {
  const content = await withSkills(context, (service) => service.content(reference, { signal: context.signal }));
  if (format === 'json') return context.json(content);
  context.out(printable(`${content.name} ${content.version ?? ''}`.trim()));
  context.out(printable(content.description));
  context.write(
    formatTable(
      ['FILE', 'BYTES'],
      content.files.map(({ path, size }) => [path, String(size)]),
    ),
  );
  context.out('');
  context.out(content.body.split('\n').map(printable).join('\n'));
}
