import { Option } from 'commander';
import type { Command } from 'commander';
import { backendEras, isolations } from '@thv/workloads';
import { durationText } from '../../duration-option.js';
import { CliError } from '../../errors.js';
import { choiceOption, collect, formatOption, integerParser } from '../../options.js';
import { groupOption } from '../../workloads.js';
import type { RegisterCommand } from '../index.js';
import { run } from './run.js';
import type { RunFlags } from './run.js';

/** Flags that other programs of this kind have, with what they ask for. They are refused: nothing is ignored in silence. */
const later = new Map([
  ['secret', 'secrets'],
  ['env-file-dir', 'folders of env files'],
  ['volume', 'volumes'],
  ['publish', 'published ports'],
  ['permission-profile', 'permission profiles'],
  ['isolate-network', 'network isolation'],
  ['network', 'container networks'],
  ['image-verification', 'container images'],
  ['tools', 'tool filters'],
  ['tools-override', 'tool overrides'],
  ['authz-config', 'authorization'],
  ['audit-config', 'audit logging'],
  ['enable-audit', 'audit logging'],
  ['remote-auth', 'remote servers'],
  ['remote-forward-headers', 'remote servers'],
  ['ca-cert', 'container builds'],
  ['webhook-config', 'webhooks'],
  ...['issuer', 'audience', 'jwks-url', 'introspection-url', 'client-id', 'client-secret', 'scopes'].map(
    (name) => [`oidc-${name}`, 'authentication of clients'] as const,
  ),
  ...['url', 'audience', 'client-id', 'client-secret', 'scopes'].map(
    (name) => [`token-exchange-${name}`, 'token exchange'] as const,
  ),
  ...['endpoint', 'headers', 'service-name', 'sampling-rate', 'insecure', 'env-vars', 'custom-attributes'].map(
    (name) => [`otel-${name}`, 'telemetry'] as const,
  ),
]);

const transports = ['stdio', 'sse', 'streamable-http'] as const;
const modes = ['streamable-http', 'sse'] as const;

export const register: RegisterCommand = (command, context) => {
  command
    .description(
      [
        'Run an MCP server in the background and print the URL at which clients reach it.',
        '',
        '  thv run [options] -- COMMAND [ARGS...]       a command',
        '  thv run [options] npx://PACKAGE [-- ARGS...] a package of the npm registry',
        '  thv run [options] uvx://PACKAGE [-- ARGS...] a package of the Python index',
        '  thv run [options] URL                        a server somewhere else, with a proxy in front',
        '  thv run --from-config FILE                   what `thv export` wrote',
        '',
        'The command returns as soon as the server answers. The URL is the only thing on stdout.',
      ].join('\n'),
    )
    .usage('[options] [PACKAGE|URL] [-- COMMAND...]')
    .argument('[server]', 'npx://PACKAGE, uvx://PACKAGE or URL')
    .option('--name <name>', 'Name of the server (made from the command if not given)')
    .addOption(
      choiceOption(
        '--transport <type>',
        'What the server speaks (default: stdio; for a URL streamable-http)',
        transports,
      ),
    )
    .addOption(choiceOption('--proxy-mode <mode>', 'What clients speak to a stdio server', modes, 'streamable-http'))
    .option('--target-port <port>', 'Port at which a server that speaks HTTP listens', integerParser(1, 65_535))
    .option('--target-host <host>', 'Host at which it listens (default: 127.0.0.1)')
    .option('--endpoint-prefix <path>', 'What stands in front of the path where clients reach the server')
    .option('--trust-proxy-headers', 'Believe X-Forwarded headers; only behind a proxy of yours')
    .option('--thv-ca-bundle <path>', 'File with certificates in PEM that are trusted besides those of the system')
    .option('-e, --env <KEY=VALUE>', 'Environment variable of the server (repeatable)', collect)
    .option('--env-file <path>', 'File with KEY=VALUE lines')
    .option('--host <host>', 'Host to listen on (default: 127.0.0.1)')
    .option('--proxy-port <port>', 'Port to listen on (default: a free one, kept)', integerParser(1, 65_535))
    .addOption(groupOption('Group of the server (default: default)', '--group <name>'))
    .option('-l, --label <key=value>', 'Label (repeatable)', collect)
    .addOption(
      choiceOption(
        '--isolation <mode>',
        'One server process for all clients, or one for each session, caller or chain of requests (default: shared)',
        isolations,
      ),
    )
    .addOption(
      choiceOption(
        '--backend-era <era>',
        'What the server speaks: revisions with sessions, or 2026-07-28 (default: auto, which asks it)',
        backendEras,
      ),
    )
    .option(
      '--state-key-file <path>',
      'Keys that seal request states for their callers, the same for every process of a service',
    )
    .option('--session-ttl <duration>', 'How long an idle client session lives (default: 2h)', durationText)
    .option('--stateless', 'No sessions and no standalone streams')
    .option('--strict-protocol-validation', 'Refuse unknown protocol versions')
    .option('--allowed-origins <origins>', 'Origins of browsers that may call, with commas (repeatable)', collectMany)
    .option('--from-config <path>', 'Read everything from a file of `thv export`, `-` for stdin')
    .option('-f, --foreground', 'Stay in the foreground until Ctrl-C')
    .addOption(formatOption())
    .action(async (server: string | undefined, flags: RunFlags) => {
      refuseLater(command);
      await run(server, flags, command, context);
    });
  for (const name of later.keys()) command.addOption(new Option(`--${name} [value]`).hideHelp());
};

function refuseLater(command: Command): void {
  for (const [name, feature] of later) {
    const key = name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    if (command.getOptionValueSource(key) === undefined) continue;
    throw new CliError('ERR_CLI_UNSUPPORTED', `--${name} is not supported: this version has no ${feature}`, {
      hint: 'thv run --help lists what is',
    });
  }
}

function collectMany(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), ...value.split(',').filter((part) => part !== '')];
}
