import { WorkloadsError } from './errors.js';

/** A package that a runner fetches and starts. */
export interface PackageSpec {
  readonly runner: 'npx' | 'uvx';
  /** Name with an optional version, as the runner takes it. */
  readonly package: string;
  readonly command: string;
  /** The runner's own arguments; the server's follow. */
  readonly args: readonly string[];
}

const npmForm = /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][A-Za-z0-9._~-]*(?:@[^\s@/]+)?$/;
const pythonForm = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9,._-]+\])?(?:(?:@|==)[^\s@=]+)?$/;

/**
 * Reads `npx://PACKAGE` or `uvx://PACKAGE`; `undefined` when the text has neither scheme.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_PACKAGE` when what follows is no package, `ERR_WORKLOADS_UNSUPPORTED` for `go://`.
 */
export function parsePackageSpec(text: string): PackageSpec | undefined {
  const [, scheme, name = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i.exec(text) ?? [];
  if (scheme === 'go') {
    throw new WorkloadsError('ERR_WORKLOADS_UNSUPPORTED', 'go:// packages are not supported', {
      details: { hint: `thv run --name NAME -- go run ${name === '' ? 'PACKAGE' : name}` },
    });
  }
  if (scheme !== 'npx' && scheme !== 'uvx') return undefined;
  const form = scheme === 'npx' ? npmForm : pythonForm;
  // A package must never be read as an option by the runner.
  if (!form.test(name) || name.startsWith('-')) {
    const example = scheme === 'npx' ? 'npx://@scope/server@1.2.0' : 'uvx://mcp-server-fetch@1.2.0';
    throw new WorkloadsError('ERR_WORKLOADS_PACKAGE', `"${name}" is no package for ${scheme}://`, {
      details: { hint: `write for example ${example}` },
    });
  }
  return { runner: scheme, package: name, command: scheme, args: scheme === 'npx' ? ['-y', name] : [name] };
}
