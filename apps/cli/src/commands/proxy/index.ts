import { Option } from 'commander';
import { completeArguments } from '../../completion.js';
import { choiceOption, integerParser } from '../../options.js';
import { serverNames } from '../../workloads.js';
import type { RegisterCommand } from '../index.js';
import { runProxy } from './run-proxy.js';
import type { ProxyFlags } from './run-proxy.js';
import { runStdio } from './stdio.js';

export const register: RegisterCommand = (command, context) => {
  command
    .description(
      [
        'Put a proxy in front of a server that speaks HTTP, in the foreground until Ctrl-C.',
        '',
        '  thv proxy NAME --target-uri URL    listens, prints its URL and forwards',
        '  thv proxy stdio NAME               speaks stdio to a client and HTTP to a running server',
      ].join('\n'),
    )
    .usage('[options] NAME')
    .argument('[name]', 'Name of the proxy, for the log')
    .option('--target-uri <url>', 'Address of the server')
    .addOption(new Option('--remote-url <url>', 'The same as --target-uri').hideHelp())
    .addOption(
      choiceOption(
        '--transport <type>',
        'What the server speaks',
        ['streamable-http', 'sse'] as const,
        'streamable-http',
      ),
    )
    .option('--host <host>', 'Host to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'Port to listen on (default: a free one)', integerParser(1, 65_535))
    .option('--endpoint-prefix <path>', 'What stands in front of the path where clients reach the proxy')
    .option('--trust-proxy-headers', 'Believe X-Forwarded headers; only behind a proxy of yours')
    .option('--thv-ca-bundle <path>', 'File with certificates in PEM that are trusted besides those of the system')
    .action(async (name: string | undefined, flags: ProxyFlags) => runProxy(name, flags, context));
  completeArguments(command.command('stdio').argument('<name>', 'Name of the server'), serverNames)
    .description('Speak stdio to a client that knows nothing else, and HTTP to a running server.')
    .action(async (name: string) => runStdio(name, context));
};
