/** Variables that hold tokens; a library takes them as an option, an app passes its own environment. */
export interface GitTokens {
  readonly GITHUB_TOKEN?: string | undefined;
  readonly GITLAB_TOKEN?: string | undefined;
  readonly GIT_TOKEN?: string | undefined;
}

/**
 * The token for a host, or `undefined`: `GITHUB_TOKEN` goes to github.com alone, `GITLAB_TOKEN` to gitlab.com
 * alone, `GIT_TOKEN` to any host. Hosts are compared whole, never by their ending.
 */
export function tokenFor(host: string, env: GitTokens): string | undefined {
  if (host === 'github.com' && env.GITHUB_TOKEN) return env.GITHUB_TOKEN;
  if (host === 'gitlab.com' && env.GITLAB_TOKEN) return env.GITLAB_TOKEN;
  return env.GIT_TOKEN || undefined;
}

/** The value of the `Authorization` header that git hosts take for a token. */
export const authorization = (token: string): string =>
  `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
