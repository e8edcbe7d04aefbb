import type { Client, Prompt, Resource, Tool } from '@modelcontextprotocol/client';
import type { CliContext } from '../../context.js';
import { ellipsis, formatTable } from '../../output/table.js';
import { withClient } from './connect.js';
import type { ServerFlags } from './connect.js';

export const listKinds = ['tools', 'resources', 'prompts'] as const;

export type ListKind = (typeof listKinds)[number];

/** What a server offers; a kind that was not asked for is absent. */
interface Offer {
  tools?: Tool[];
  resources?: Resource[];
  prompts?: Prompt[];
}

const maxPages = 1000;

/** Prints what a server offers of the given kinds, all pages. */
export async function list(kinds: readonly ListKind[], flags: ServerFlags, context: CliContext): Promise<void> {
  const offer = await withClient(flags, context, async (client, options) => {
    const found: Offer = {};
    for (const kind of kinds) {
      // Of a server that does not have the kind at all, the list is empty.
      if (client.getServerCapabilities()?.[kind] === undefined) Object.assign(found, { [kind]: [] });
      else await read[kind](client, options, found);
    }
    return found;
  });
  if (flags.format === 'json') context.json(offer);
  else printText(offer, context);
}

type CallOptions = NonNullable<Parameters<Client['listTools']>[1]>;

const read: Record<ListKind, (client: Client, options: CallOptions, offer: Offer) => Promise<void>> = {
  async tools(client, options, offer) {
    offer.tools = await allPages(async (page) => {
      const { tools, nextCursor } = await client.listTools(page, options);
      return { items: tools, nextCursor };
    });
  },
  async resources(client, options, offer) {
    offer.resources = await allPages(async (page) => {
      const { resources, nextCursor } = await client.listResources(page, options);
      return { items: resources, nextCursor };
    });
  },
  async prompts(client, options, offer) {
    offer.prompts = await allPages(async (page) => {
      const { prompts, nextCursor } = await client.listPrompts(page, options);
      return { items: prompts, nextCursor };
    });
  },
};

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string | undefined;
}

async function allPages<T>(next: (page: { cursor?: string }) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const answer = await next(cursor === undefined ? {} : { cursor });
    items.push(...answer.items);
    // A server that gives the same cursor again would be asked for ever.
    if (answer.nextCursor === undefined || answer.nextCursor === cursor) break;
    cursor = answer.nextCursor;
  }
  return items;
}

function printText({ tools = [], resources = [], prompts = [] }: Offer, context: CliContext): void {
  const width = Math.max(40, (context.stdout.columns ?? 120) - 40);
  const short = (text: string | undefined): string => ellipsis((text ?? '').split('\n')[0] ?? '', width);
  const parts: string[] = [];
  if (tools.length > 0) {
    const rows = tools.map(({ name, description }) => [name, short(description)]);
    parts.push(`TOOLS:\n${formatTable(['NAME', 'DESCRIPTION'], rows)}`);
  }
  if (resources.length > 0) {
    const rows = resources.map(({ name, uri, description, mimeType }) => [
      name,
      uri,
      short(description),
      mimeType ?? '',
    ]);
    parts.push(`RESOURCES:\n${formatTable(['NAME', 'URI', 'DESCRIPTION', 'MIME_TYPE'], rows)}`);
  }
  if (prompts.length > 0) {
    const rows = prompts.map(({ name, description, arguments: args = [] }) => [
      name,
      short(description),
      args.length === 0 ? '0' : `${args.length} (${args.map((argument) => argument.name).join(', ')})`,
    ]);
    parts.push(`PROMPTS:\n${formatTable(['NAME', 'DESCRIPTION', 'ARGUMENTS'], rows)}`);
  }
  if (parts.length === 0) context.out('No tools, resources, or prompts found');
  else context.write(parts.join('\n'));
}
