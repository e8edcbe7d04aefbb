import { MrtrError } from './errors.js';
import { isObject, own } from './json.js';
import type { FormContent, FormSchema } from './schema.js';
import { checkToolBalance } from './tool-balance.js';
import type { InputRequest, JsonObject } from './types.js';

/** One question, with what a client's answer to it is. */
export interface Ask<Content = unknown> {
  readonly request: InputRequest;
  /** Set for a form: answers are checked against it. */
  readonly schema?: FormSchema;
  /** Left out where the client cannot be asked, instead of refusing the whole request. @defaultValue false */
  readonly optional?: boolean;
  /** Only for the type: what an accepted answer holds. */
  readonly content?: Content;
}

/** A result of sampling. */
export interface SampledMessage extends JsonObject {
  readonly role: string;
  readonly content: JsonObject | readonly JsonObject[];
  readonly model?: string;
  readonly stopReason?: string;
}

/** A result of `roots/list`. */
export interface Roots extends JsonObject {
  readonly roots: readonly { readonly uri: string; readonly name?: string }[];
}

interface AskOptions {
  readonly optional?: boolean;
}

const SECRETS = /pass(?:word|wd|phrase)|secret|api[-_ ]?key|access[-_ ]?token|private[-_ ]?key|credential|cvv|\bpin\b/i;
const CARRIERS = /^(?:token|access_token|id_token|auth|key|apikey|api_key|password|session|jwt|code|email|user|ssn)$/i;
const E_MAIL = /[^\s@/?&=]+(?:@|%40)[^\s@/?&=]+\.[a-z]{2,}/i;

/**
 * Makes questions. What cannot be asked so is refused while the server is written, not when its user is there.
 *
 * @throws MrtrError `ERR_MRTR_ASK`
 */
export const ask = {
  /** A form. Never ask for a secret so: the client and its model read the answer. */
  form<const Schema extends FormSchema>(
    message: string,
    requestedSchema: Schema,
    options: AskOptions = {},
  ): Ask<FormContent<Schema>> {
    checkForm(requestedSchema);
    const params = { mode: 'form', message, requestedSchema: requestedSchema as unknown as JsonObject };
    return { request: { method: 'elicitation/create', params }, schema: requestedSchema, ...options };
  },

  /**
   * An address that the user opens by itself. An accepted answer means consent to open it, and not that anything was
   * done there. The address may carry no secret and nothing about the user: both travel through the client.
   */
  url(message: string, url: string, options: AskOptions = {}): Ask<undefined> {
    checkAddress(url);
    return { request: { method: 'elicitation/create', params: { mode: 'url', message, url } }, ...options };
  },

  /** A message of the client's model. `params` are those of `sampling/createMessage`. */
  sampling(params: JsonObject, options: AskOptions = {}): Ask<SampledMessage> {
    const maxTokens = own(params, 'maxTokens');
    if (!Number.isSafeInteger(maxTokens) || (maxTokens as number) < 1) {
      throw refused(`Expected \`maxTokens\` to be a positive integer, got \`${String(maxTokens)}\``);
    }
    const messages = own(params, 'messages');
    if (!Array.isArray(messages) || messages.length === 0) throw refused('Expected `messages` to be a non-empty list');
    checkToolBalance(messages);
    return { request: { method: 'sampling/createMessage', params }, ...options };
  },

  /** The folders that the client works in. */
  roots(options: AskOptions = {}): Ask<Roots> {
    return { request: { method: 'roots/list' }, ...options };
  },
} as const;

const FIELD_TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'array']);

function checkForm(schema: FormSchema): void {
  if (own(schema, 'type') !== 'object' || !isObject(own(schema, 'properties'))) {
    throw refused('Expected the schema of a form to be of type "object" with `properties`');
  }
  for (const [key, field] of Object.entries(schema.properties)) {
    if (!isObject(field) || !FIELD_TYPES.has(own(field, 'type'))) {
      throw refused(`Expected field \`${key}\` to be text, a number, true or false, or a list of words`);
    }
    if (SECRETS.test(`${key} ${String(own(field, 'title') ?? '')}`)) {
      throw refused(
        `Field \`${key}\` asks for a secret; ask for it at an address (\`ask.url\`), where only your server reads it`,
      );
    }
  }
  const lost = (schema.required ?? []).find((key) => !Object.hasOwn(schema.properties, key));
  if (lost !== undefined) throw refused(`Field \`${lost}\` is required and not among the properties`);
}

function checkAddress(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refused(`Expected an address, got \`${text}\``);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) {
    throw refused(`Expected an https address (http on this machine alone), got \`${url.protocol}//${url.host}\``);
  }
  if (url.username !== '' || url.password !== '') throw refused('The address holds a user name or a password');
  const carrier = [...url.searchParams.keys()].find((key) => CARRIERS.test(key));
  if (carrier !== undefined || E_MAIL.test(text)) {
    const what = carrier === undefined ? 'an e-mail address' : `the parameter "${carrier}"`;
    throw refused(`The address holds ${what}; use an opaque handle and let the user sign in there`);
  }
}

const refused = (message: string): MrtrError => new MrtrError('ERR_MRTR_ASK', message);
