import { completeArguments } from '../completion.js';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CliError } from '../errors.js';
import { choiceOption } from '../options.js';
import { openManager, serverNames, withSuggestions } from '../workloads.js';
import type { RegisterCommand } from './index.js';

export const register: RegisterCommand = (command, context) => {
  completeArguments(command, serverNames)
    .description('Write the configuration of an MCP server to a file, for `thv run --from-config`; `-` is stdout.')
    .argument('<name>', 'Name of the server')
    .argument('<path>', 'File to write')
    .addOption(choiceOption('--format <format>', 'Format of the file', ['json', 'k8s'], 'json'))
    .action(async (name: string, path: string, { format }: { readonly format: 'json' | 'k8s' }) => {
      if (format === 'k8s') {
        throw new CliError('ERR_CLI_UNSUPPORTED', 'Kubernetes manifests are not supported yet', {
          hint: `thv export ${name} ${path} --format json`,
        });
      }
      const manager = openManager(context);
      const config = await withSuggestions(manager, name, async () => manager.configs.read(name));
      if (path === '-') {
        context.json(config);
        return;
      }
      const target = resolve(context.cwd, path);
      try {
        // It may hold a token in `env_vars`.
        await writeFile(target, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
      } catch (cause) {
        throw new CliError('ERR_CLI_FILE', `${target} cannot be written: ${(cause as Error).message}`, {
          file: target,
          hint: 'choose another path',
          cause,
        });
      }
      context.out(`Successfully exported run configuration for '${name}' to '${path}'`);
    });
};
