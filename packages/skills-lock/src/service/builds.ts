import { readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { chooseBuildTag, packSkill, signArtifact, validateSkill } from '@thv/oci-skills';
import type { SigningMethod, SkillDiagnostic } from '@thv/oci-skills';
import { SkillsLockError } from '../errors.js';
import type { BuildInfo, ContentResponse, PushRequest, ValidateResponse } from '../types.js';
import { pathOf, resolveSource } from './candidate.js';
import type { ServiceContext } from './context.js';
import { translated } from './translate.js';

const MAX_KEY_BYTES = 64 * 1024;

/** Checks a folder with a SKILL.md. */
export async function validate(
  context: ServiceContext,
  request: { readonly path: string; readonly strict?: boolean },
  signal?: AbortSignal,
): Promise<ValidateResponse> {
  return await translated(async () => {
    const verdict = await validateSkill(folderOf(context, request.path), {
      strict: request.strict ?? false,
      ...(signal ? { signal } : {}),
    });
    return {
      valid: verdict.valid,
      ...(verdict.errors.length > 0 ? { errors: verdict.errors.map(oneLine) } : {}),
      ...(verdict.warnings.length > 0 ? { warnings: verdict.warnings.map(oneLine) } : {}),
    };
  });
}

/** `SKILL.md:3:7: message`, as editors and people read it. */
const oneLine = ({ file, line, column, message }: SkillDiagnostic): string =>
  `${file}${line === undefined ? '' : `:${line}`}${column === undefined ? '' : `:${column}`}: ${message}`;

function folderOf(context: ServiceContext, path: string): string {
  if (path === '')
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      'The path of the skill is empty; pass the folder that holds SKILL.md',
    );
  return isAbsolute(path) ? path : pathOf(context, path.startsWith('.') || path.startsWith('~') ? path : `./${path}`);
}

/** Packs a folder into the local store. */
export async function build(
  context: ServiceContext,
  request: { readonly path: string; readonly tag?: string },
  signal?: AbortSignal,
): Promise<{ readonly reference: string }> {
  return await translated(async () => {
    const call = signal ? { signal } : {};
    const packed = await packSkill(folderOf(context, request.path), { env: context.env, ...call });
    const tag = chooseBuildTag({ name: packed.skill.name, ...(request.tag ? { tag: request.tag } : {}) });
    await context.artifacts.put(packed, { ...call, localBuild: true, ...(tag === '' ? {} : { tag }) });
    return { reference: tag === '' ? packed.digest : tag };
  });
}

/** Sends a local build to its registry and signs it. */
export async function push(context: ServiceContext, request: PushRequest, signal?: AbortSignal): Promise<void> {
  await translated(async () => {
    const call = signal ? { signal } : {};
    const method = await signingMethod(context, request);
    const artifact = await context.artifacts.read(request.reference, call).catch((error: unknown) => {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_NOT_FOUND',
        `${JSON.stringify(request.reference)} was not found in the local store; build it first with --tag ${request.reference}`,
        { cause: error },
      );
    });
    const { digest } = await context.registry.push(request.reference, artifact, call);
    if (method)
      await signArtifact(request.reference, digest, { ...context.trust, registry: context.registry, method, ...call });
  });
}

/** Exactly one of three ways, decided before anything is sent. */
async function signingMethod(context: ServiceContext, request: PushRequest): Promise<SigningMethod | undefined> {
  const { key = '', identity_token: identityToken = '', no_sign: noSign = false } = request;
  const given = [key !== '', identityToken !== '', noSign].filter(Boolean).length;
  if (given !== 1) {
    const why = given === 0 ? 'none was given' : 'more than one was given';
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `A push takes exactly one of a signing key, an identity token and no signature; ${why}. Pass --key, --identity-token or --no-sign`,
    );
  }
  if (noSign) return undefined;
  if (key !== '')
    return { kind: 'key', privateKey: await readKey(context, key), password: context.env.COSIGN_PASSWORD ?? '' };
  const { TOOLHIVE_SIGSTORE_FULCIO_URL: fulcioUrl, TOOLHIVE_SIGSTORE_REKOR_URL: rekorUrl } = context.env;
  return { kind: 'keyless', identityToken, ...(fulcioUrl ? { fulcioUrl } : {}), ...(rekorUrl ? { rekorUrl } : {}) };
}

async function readKey(context: ServiceContext, path: string): Promise<string> {
  if (context.allowKeyPaths === false) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      'A path of a signing key is taken from this machine only; use an identity token, or push from where the key is',
    );
  }
  const refuse = (why: string, cause?: unknown) =>
    new SkillsLockError('ERR_SKILLS_LOCK_ARGUMENT', `The signing key ${JSON.stringify(path)} ${why}`, { cause });
  const real = await realpath(folderOf(context, path)).catch((error: unknown) => {
    throw refuse('was not found; pass the path of a cosign private key', error);
  });
  const info = await stat(real);
  if (!info.isFile()) throw refuse('is no regular file');
  if (info.size > MAX_KEY_BYTES) throw refuse(`is larger than ${MAX_KEY_BYTES} bytes and no key`);
  return await readFile(real, 'utf8');
}

/** Local builds, by tag. */
export async function builds(context: ServiceContext, signal?: AbortSignal): Promise<readonly BuildInfo[]> {
  return await translated(async () =>
    (await context.artifacts.listBuilds(signal ? { signal } : {})).map(
      ({ tag, digest, name, description, version }) => ({
        tag,
        digest,
        ...(name === '' ? {} : { name }),
        ...(description === '' ? {} : { description }),
        ...(version === '' ? {} : { version }),
      }),
    ),
  );
}

/** Removes a local build. */
export async function removeBuild(context: ServiceContext, tag: string, signal?: AbortSignal): Promise<void> {
  await translated(async () => {
    const found = await context.artifacts.listBuilds(signal ? { signal } : {});
    if (!found.some((entry) => entry.tag === tag)) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_NOT_FOUND',
        `No local build is tagged ${JSON.stringify(tag)}; "thv skill builds" lists them`,
      );
    }
    await context.artifacts.remove(tag, signal ? { signal } : {});
  });
}

/** What a skill consists of, without installing it. */
export async function content(
  context: ServiceContext,
  reference: string,
  signal?: AbortSignal,
): Promise<ContentResponse> {
  return await translated(async () => {
    const candidate = await resolveSource(context, reference, signal ? { signal } : {});
    const { skill, files } = await candidate.load();
    return {
      name: skill.name,
      description: skill.description,
      ...(skill.version === '' ? {} : { version: skill.version }),
      ...(skill.license === '' ? {} : { license: skill.license }),
      body: skill.body,
      files: files.map(({ path, size }) => ({ path, size })),
    };
  });
}
