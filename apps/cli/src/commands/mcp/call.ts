import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { printable } from '../../output/safe-text.js';
import { readInput } from '../../prompt.js';
import { withClient } from './connect.js';
import type { ServerFlags } from './connect.js';

/** Flags of `mcp call`. */
export interface CallFlags extends ServerFlags {
  readonly args?: string;
  readonly argsFile?: string;
  readonly ignoreToolError?: boolean;
}

const maxArgumentBytes = 64 * 1024 * 1024;

/** Calls a tool and prints its result; a result that is an error makes the command fail. */
export async function callTool(tool: string, flags: CallFlags, context: CliContext): Promise<void> {
  const args = await readArguments(flags, context);
  const result = await withClient(flags, context, async (client, options) =>
    client.callTool({ name: tool, arguments: args }, options),
  );
  if (flags.format === 'json') context.json(result);
  else printResult(result, context);
  if (result.isError !== true || flags.ignoreToolError === true) return;
  throw new CliError('ERR_CLI_TOOL', `tool "${tool}" reported an error`, {
    hint: `thv mcp list tools --server ${flags.server ?? ''} --format json shows what it takes`,
  });
}

async function readArguments(flags: CallFlags, context: CliContext): Promise<Record<string, unknown>> {
  const { args, argsFile } = flags;
  if (args !== undefined && argsFile !== undefined) {
    throw new CliError('ERR_CLI_USAGE', '--args and --args-file exclude each other', { hint: 'give one of the two' });
  }
  if (args === undefined && argsFile === undefined) return {};
  const source = args === '-' || argsFile === '-' ? 'stdin' : (argsFile ?? '--args');
  const text = source === 'stdin' ? await readStdin(context) : (args ?? (await readArgsFile(argsFile ?? '', context)));
  return parseArguments(text, source);
}

async function readStdin(context: CliContext): Promise<string> {
  try {
    return await readInput(context, maxArgumentBytes);
  } catch (cause) {
    if (context.signal.aborted) throw cause;
    const hint = 'pass a smaller JSON object';
    throw new CliError('ERR_CLI_INPUT', `stdin cannot be read: ${(cause as Error).message}`, { hint, cause });
  }
}

async function readArgsFile(path: string, context: CliContext): Promise<string> {
  const file = resolve(context.cwd, path);
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new CliError('ERR_CLI_FILE', `${file} cannot be read: ${(cause as Error).message}`, {
      file,
      hint: 'check the path',
      cause,
    });
  }
}

function parseArguments(text: string, source: string): Record<string, unknown> {
  const hint = `pass a JSON object, for example --args '{"message":"hi"}'`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CliError('ERR_CLI_INPUT', `the arguments (${source}) are no JSON: ${(cause as Error).message}`, {
      hint,
      cause,
    });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  const kind = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`;
  throw new CliError('ERR_CLI_INPUT', `the arguments (${source}) must be a JSON object, got ${kind}`, { hint });
}

function printResult(result: CallToolResult, context: CliContext): void {
  if (result.isError === true) context.warn('Error:');
  for (const block of result.content) context.out(printable(describeBlock(block)));
  if (result.structuredContent === undefined) return;
  context.out('Structured content:');
  context.json(result.structuredContent);
}

function describeBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type}: ${block.mimeType}, ${Buffer.byteLength(block.data, 'base64')} bytes]`;
    case 'resource_link':
      return `[resource link: ${block.name} (${block.uri}, ${block.mimeType ?? 'unknown'})]`;
    case 'resource':
      return 'text' in block.resource ? block.resource.text : `[embedded resource: ${block.resource.uri}]`;
    default:
      return `[unknown content: ${JSON.stringify(block)}]`;
  }
}
