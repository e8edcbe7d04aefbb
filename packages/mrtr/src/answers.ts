import type { Ask } from './ask.js';
import type { Asks } from './input-required.js';
import { isObject, own } from './json.js';
import { formContent, formProblems } from './schema.js';
import type { JsonObject } from './types.js';

/** What became of a question. Each is a branch of its own: who only looks for content asks a person who declined again. */
export type Answer<Content = unknown> =
  | { readonly kind: 'accepted'; readonly content: Content }
  | { readonly kind: 'declined' }
  | { readonly kind: 'cancelled' }
  /** Not answered: not asked yet, or left out. */
  | { readonly kind: 'missing' }
  /** Answered with something that was not asked for. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

/** Answers by the keys of their questions. */
export type Answers<Questions extends Asks> = {
  readonly [Key in keyof Questions]: Answer<Questions[Key] extends Ask<infer Content> ? Content : unknown>;
};

/** The JSON-RPC error for answers that are no map of objects. */
export const INVALID_RESPONSES = {
  code: -32602,
  message: 'params.inputResponses must be an object whose values are the results of the questions',
} as const;

/**
 * Reads the answers of a retry; keys that were not asked are ignored. Answers `undefined` where `inputResponses` is no
 * object at all: the request then gets {@link INVALID_RESPONSES}.
 */
export function readAnswers<const Questions extends Asks>(
  inputResponses: unknown,
  asks: Questions,
): Answers<Questions> | undefined {
  if (inputResponses !== undefined && !isObject(inputResponses)) return undefined;
  const entries = Object.entries(asks).map(([key, question]) => [
    key,
    readAnswer(question, inputResponses === undefined ? undefined : own(inputResponses, key)),
  ]);
  return Object.fromEntries(entries) as Answers<Questions>;
}

function readAnswer({ request, schema }: Ask, value: unknown): Answer {
  if (value === undefined) return { kind: 'missing' };
  if (!isObject(value)) return { kind: 'invalid', problems: ['the answer must be an object'] };
  switch (request.method) {
    case 'elicitation/create':
      return readElicitation(value, schema);
    case 'sampling/createMessage':
      return typeof own(value, 'role') === 'string' && own(value, 'content') !== undefined
        ? { kind: 'accepted', content: value }
        : { kind: 'invalid', problems: ['the answer must be a message with role and content'] };
    case 'roots/list':
      return Array.isArray(own(value, 'roots'))
        ? { kind: 'accepted', content: value }
        : { kind: 'invalid', problems: ['the answer must have a list of roots'] };
  }
}

function readElicitation(value: JsonObject, schema: Ask['schema']): Answer {
  switch (own(value, 'action')) {
    case 'decline':
      return { kind: 'declined' };
    case 'cancel':
      return { kind: 'cancelled' };
    case 'accept': {
      if (schema === undefined) return { kind: 'accepted', content: undefined };
      const content = own(value, 'content') ?? {};
      const problems = formProblems(schema, content);
      return problems.length > 0
        ? { kind: 'invalid', problems }
        : { kind: 'accepted', content: formContent(schema, content as JsonObject) };
    }
    default:
      return { kind: 'invalid', problems: ['the action must be accept, decline or cancel'] };
  }
}
