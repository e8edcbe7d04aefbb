import { describe, expect, it } from 'vitest';
import { openInProcess } from './support/in-process.js';

describe('what is wrong on a command line', () => {
  it.each([
    ['versoin', /^error: unknown command "versoin" \(did you mean "version"\?\)\nTry: thv --help\n$/],
    ['help nonsense', /^error: unknown command "nonsense"\nTry: thv --help\n$/],
    ['llm setup', /^error: "llm" is not part of this program\n/],
    ['--hlep', /^error: unknown option "--hlep" \(did you mean "--help"\?\)\n/],
    ['list --formt json', /^error: unknown option '--formt' \(Did you mean --format\?\)\nTry: thv list --help\n$/],
    [
      'list --format jsn',
      /Expected one of text, json, mcpservers \(did you mean "json"\?\)\.\nTry: thv list --help\n$/,
    ],
    ['mcp lst', /unknown command 'lst' \(Did you mean one of list, ls\?\)\nTry: thv mcp --help\n$/],
    ['mcp list toools --server x', /Expected one of tools, resources, prompts \(did you mean "tools"\?\)/],
    ['mcp list tools', /required flag "--server" is not set\nTry: --server NAME or --server URL\n$/],
    ['mcp list tools --server ftp://x', /"ftp:\/\/x" is no http or https URL/],
    ['mcp list tools --server x --timeout 5', /Expected a duration such as 30s/],
    ['mcp call', /missing required argument 'tool'\nTry: thv mcp call --help\n$/],
    ['mcp call t --server x --args {}  --args-file y', /--args and --args-file exclude each other/],
    ['mcp call t --server x --args {', /the arguments \(--args\) are no JSON/],
    ['mcp call t --server x --args [1]', /the arguments \(--args\) must be a JSON object, got an array/],
    ['mcp call t --server x --args-file nowhere.json', /nowhere\.json cannot be read/],
    ['run', /there is nothing to run\nTry: thv run --name NAME -- COMMAND \[ARGS\.\.\.\]\n$/],
    ['run osv', /"osv" is no command and no package: [^]*\nTry: thv run -- osv, or thv run npx:\/\/PACKAGE\n$/],
    ['run npx://--evil', /"--evil" is no package for npx:\/\/\nTry: write for example npx:/],
    ['run go://x', /go:\/\/ packages are not supported/],
    ['run --transport std -- x', /Expected one of stdio, sse, streamable-http \(did you mean "stdio"\?\)/],
    ['run --isolation leased -- x', /Expected one of shared, session, principal, lease/],
    ['run --backend-era old -- x', /Expected one of auto, legacy, modern/],
    ['run --isolation session --stateless -- x', /--stateless and --isolation session exclude each other/],
    ['run --proxy-port 99999 -- x', /Expected a whole number from 1 to 65535/],
    ['run --session-ttl 5 -- x', /Expected a duration such as 30s/],
    ['run --session-ttl -5s -- x', /Expected a duration above zero/],
    ['run --name a/b -- x', /"a\/b" is no name for a server[^]*Try: --name a-b\n$/],
    ['run -e 1=2 -- x', /Expected an environment variable as KEY=VALUE, got "1=2"/],
    ['run -e NOT_SET_HERE -- x', /"NOT_SET_HERE" is not set in this shell/],
    ['run --env-file nowhere.env -- x', /nowhere\.env cannot be read/],
    ['run --label x -- x', /Expected a label as key=value, got "x"/],
    ['run --group nobody -- x', /^error: group 'nobody' does not exist\nTry: thv group create nobody\n$/],
    ['run --secret a,target=B -- x', /--secret is not supported: this version has no secrets/],
    ['run --enable-audit -- x', /--enable-audit is not supported: this version has no audit logging/],
    ['run --from-config nowhere.json', /nowhere\.json cannot be read/],
    ['run --from-config x.json --host 0.0.0.0', /--host cannot be combined with --from-config/],
    ['run --from-config x.json -- y', /a command cannot be combined with --from-config/],
    ['run --host 192.0.2.1 -- x', /host 192\.0\.2\.1 is not available/],
    ['start', /at least one workload name must be provided[^]*Try: thv start NAME/],
    ['stop --all x', /no arguments should be provided when --all or --group flag is set/],
    ['rm', /workload name is required when not using --group flag/],
    ['rm --all --group x', /--all and --group exclude each other/],
    ['start -f a b', /--foreground takes exactly one name/],
    ['start nobody', /^error: server "nobody" not found\nTry: thv list --all\n$/],
    ['status nobody', /^error: server "nobody" not found\n/],
    ['logs nobody', /^error: server "nobody" not found\n/],
    ['rm nobody', /^error: server "nobody" not found\n/],
    ['rm ../x', /"\.\.\/x" is no name for a server/],
    ['export nobody x.json', /^error: server "nobody" not found\n/],
    ['mcp list --server nobody', /^error: server "nobody" not found\n/],
    ['list --group nobody', /group 'nobody' does not exist/],
    ['stop --group nobody', /group 'nobody' does not exist/],
    ['rm --group nobody', /group 'nobody' does not exist/],
    ['group create', /missing required argument 'name'/],
    ['group create Team', /invalid group name "Team"[^]*Try: name it team\n$/],
    ['group create default', /group 'default' already exists/],
    ['group rm nobody', /group 'nobody' does not exist/],
    ['group rm default', /cannot delete the default group/],
    ['completion bsh', /unknown shell "bsh" \(did you mean "bash"/],
    ['export a b --format k8s', /Kubernetes manifests are not supported yet/],
  ])('thv %s', async (line, message) => {
    const thv = await openInProcess();
    const dashes = line.indexOf(' -- ');
    const args = line.split(/ +/);
    const result = await thv(args);
    expect(result.code).toBe(1);
    expect(result.stdout).toBe('');
    expect(result.stderr).toMatch(message);
    expect(result.stderr.trimEnd().split('\n').at(-1)).toMatch(/^Try: \S/);

    const withJson = dashes < 0 ? `${line} --format json` : line.replace(' -- ', ' --format json -- ');
    if (/--formt|--format|--hlep|completion/.test(line)) return;
    const json = await thv(withJson.split(/ +/));
    expect(json.code).toBe(1);
    const envelope = json.stderr.trimEnd().split('\n').at(-1) ?? '';
    expect(JSON.parse(envelope)).toEqual({
      error: expect.objectContaining({
        code: expect.stringMatching(/^ERR_(?:CLI|WORKLOADS)_/) as unknown,
        message: expect.any(String) as unknown,
        hint: expect.any(String) as unknown,
      }) as unknown,
    });
  });

  it('suggests names that are near', async () => {
    const thv = await openInProcess();
    await thv(['group', 'create', 'team']);
    expect((await thv(['rm', 'nobody'])).stderr).not.toContain('did you mean');
  });

  it.each([
    ['ERR_CLI_USAGE', ['nonsense']],
    ['ERR_CLI_UNSUPPORTED', ['run', '--volume', 'x', '--format', 'json', '--', 'x']],
    ['ERR_CLI_FILE', ['run', '--from-config', 'nowhere', '--format', 'json']],
    ['ERR_CLI_INPUT', ['mcp', 'call', 't', '--server', 'x', '--args', 'x', '--format', 'json']],
    ['ERR_CLI_CONNECT', ['mcp', 'list', '--server', 'http://127.0.0.1:9/mcp', '--format', 'json']],
    ['ERR_WORKLOADS_ENV', ['run', '-e', '=', '--format', 'json', '--', 'x']],
    ['ERR_WORKLOADS_PACKAGE', ['run', 'npx://', '--format', 'json']],
  ])('carries the code %s in the envelope', async (code, args) => {
    const thv = await openInProcess();
    const { stderr } = await thv(args.includes('--format') ? args : [...args, '--format', 'json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code } });
  });
});

describe('help', () => {
  it.each([[[]], [['--help']], [['-h']], [['help']]])('shows the first screen for %j', async (args) => {
    const thv = await openInProcess();
    const { code, stdout, stderr } = await thv(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: thv \[command\]\n[^]*Start here:\n {2}run /);
    expect(stdout).not.toContain('__');
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^Try: thv run /);
  });

  it.each([
    ['mcp', 'call'],
    ['group', 'create'],
    ['config', 'unset'],
    ['help mcp call', '--args-file'],
    ['help restart', 'start|restart'],
  ])('thv %s prints help with %s and succeeds', async (line, text) => {
    const thv = await openInProcess();
    const { code, stdout, stderr } = await thv(line.split(' '));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(text);
  });

  it.each([
    ['run', '--isolation'],
    ['list', '--group'],
    ['start', 'restart'],
    ['mcp call', '--args-file'],
    ['group rm', '--with-workloads'],
    ['logs', '--follow'],
    ['completion', 'shell'],
  ])('of %s names %s', async (line, text) => {
    const thv = await openInProcess();
    const { code, stdout } = await thv([...line.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(text);
  });
});

describe('colour', () => {
  it.each([
    [{}, true, true],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ CI: 'true' }, true, false],
    [{ TERM: 'dumb' }, true, false],
    [{}, false, false],
  ])('with %j on a terminal (%s) is %s', async (env, isTty, coloured) => {
    const thv = await openInProcess();
    const { stderr } = await thv(['status', 'nobody'], { env, isTty });
    expect(stderr.includes('\u001b[31m')).toBe(coloured);
  });

  it.each([['--no-color'], ['--format=json']])('is off with %s', async (flag) => {
    const thv = await openInProcess();
    const { stderr } = await thv(['status', 'nobody', flag], { isTty: true });
    expect(stderr).not.toContain('\u001b');
  });
});

describe('version', () => {
  it('is text or JSON', async () => {
    const thv = await openInProcess();
    expect((await thv(['version'])).stdout).toMatch(/^thv \d+\.\d+\.\d+\nNode: v\d/);
    expect(JSON.parse((await thv(['version', '--format', 'json'])).stdout)).toMatchObject({
      node_version: process.version,
    });
    expect((await thv(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
