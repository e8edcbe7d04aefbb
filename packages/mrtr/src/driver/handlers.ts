import { missingCapabilities, requiredCapabilities } from '../capabilities.js';
import { MrtrError } from '../errors.js';
import { canonicalJson, isObject, own } from '../json.js';
import type { InputRequest, InputRequiredResult, JsonObject } from '../types.js';
import { Suspend, declaredBy } from './declare.js';
import type { InputHandler, InputHandlers } from './declare.js';

const MAX_KEYS = 64;

/**
 * Puts the questions of a round to the handlers, a few at a time; one that fails ends the others. The same question
 * under the same key is not put to a person twice.
 */
export async function answerRound(
  { inputRequests = {} }: InputRequiredResult,
  { handlers, concurrency = 4 }: { readonly handlers: InputHandlers; readonly concurrency?: number },
  answered: Map<string, JsonObject>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, JsonObject> | 'suspend'> {
  const questions = Object.entries(inputRequests);
  if (questions.length > MAX_KEYS) throw protocol(`It asks ${questions.length} questions at once`);
  const prepared = questions.map(([key, request]) => ({ key, request, handler: handlerFor(request, handlers) }));
  const answers = new Map<string, JsonObject>();
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const waiting = [...prepared];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      either.throwIfAborted();
      answers.set(next.key, await answerOne(next, answered, either));
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, prepared.length) }, work));
  } catch (error) {
    stop.abort();
    if (error instanceof Suspend) return 'suspend';
    throw error;
  }
  return new Map(questions.map(([key]) => [key, answers.get(key) ?? {}]));
}

interface Question {
  readonly key: string;
  readonly request: InputRequest;
  readonly handler: InputHandler;
}

async function answerOne(
  { key, request, handler }: Question,
  answered: Map<string, JsonObject>,
  signal: AbortSignal,
): Promise<JsonObject> {
  const digest = `${key} ${canonicalJson(request)}`;
  const known = answered.get(digest);
  if (known !== undefined) return known;
  const answer = await untilAborted(Promise.resolve(handler(request.params ?? {}, { signal, key, request })), signal);
  if (!isObject(answer)) {
    throw new MrtrError('ERR_MRTR_UNANSWERED', `The handler of ${request.method} answered no object`, {
      details: { key },
    });
  }
  // A consent to open an address does not expire between two rounds; a declined one neither.
  if (own(request.params ?? {}, 'mode') === 'url') answered.set(digest, answer);
  return answer;
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
    work.catch(() => undefined);
  }
}

function handlerFor(request: InputRequest, handlers: InputHandlers): InputHandler {
  const known = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
  if (!isObject(request) || !known.includes(request.method)) throw protocol('It asks a question of an unknown kind');
  const missing = missingCapabilities(requiredCapabilities(request), declaredBy(handlers));
  if (missing !== undefined) throw protocol(`It asks for what was not declared: ${JSON.stringify(missing)}`);
  const isUrl = own(request.params ?? {}, 'mode') === 'url';
  const kinds = {
    'elicitation/create': isUrl ? 'url' : 'form',
    'sampling/createMessage': 'sampling',
    'roots/list': 'roots',
  } as const;
  const handler = handlers[kinds[request.method]];
  if (handler === undefined) throw protocol(`Nobody answers ${request.method} here`);
  return handler;
}

const protocol = (what: string): MrtrError =>
  new MrtrError('ERR_MRTR_PROTOCOL', `The server broke the protocol: ${what}`);
