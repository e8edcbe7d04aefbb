import type { Message } from '@thv/transport';
import { paramsOf } from './sessions.js';

type Capabilities = Readonly<Record<string, unknown>>;

const objectAt = (capabilities: Capabilities, name: string): Capabilities | undefined => {
  const value = Object.hasOwn(capabilities, name) ? capabilities[name] : undefined;
  return typeof value === 'object' && value !== null ? (value as Capabilities) : undefined;
};

/**
 * Whether a client declared what a request of the server needs. An elicitation capability without members means forms
 * only.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
export function clientAllows(capabilities: Capabilities, request: Message): boolean {
  switch (request.method) {
    case 'sampling/createMessage':
      return objectAt(capabilities, 'sampling') !== undefined;
    case 'roots/list':
      return objectAt(capabilities, 'roots') !== undefined;
    case 'elicitation/create':
      return allowsElicitation(objectAt(capabilities, 'elicitation'), paramsOf(request)['mode']);
    case 'tasks/get':
    case 'tasks/result':
    case 'tasks/list':
    case 'tasks/cancel':
      return objectAt(capabilities, 'tasks') !== undefined;
    default:
      return true;
  }
}

function allowsElicitation(elicitation: Capabilities | undefined, mode: unknown): boolean {
  if (elicitation === undefined) return false;
  const url = objectAt(elicitation, 'url') !== undefined;
  if (mode === 'url') return url;
  return objectAt(elicitation, 'form') !== undefined || !url;
}
