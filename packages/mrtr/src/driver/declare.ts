import type { ClientCapabilities, InputRequest, JsonObject } from '../types.js';

/** Answers one question; `params` are those of the question. */
export type InputHandler = (
  params: JsonObject,
  options: { readonly signal: AbortSignal; readonly key: string; readonly request: InputRequest },
) => Promise<JsonObject> | JsonObject;

/** Who answers which kind of question. Throw {@link Suspend} to answer later. */
export interface InputHandlers {
  /** Answers `{ action, content? }`. */
  readonly form?: InputHandler;
  /**
   * Shows the whole address and asks before it is opened, by the user alone. An accepted answer means consent, and not
   * that anything was done there.
   */
  readonly url?: InputHandler;
  /** Answers `{ role, content, model }`. */
  readonly sampling?: InputHandler;
  /** Whether the sampling handler takes tools. @defaultValue false */
  readonly samplingTools?: boolean;
  /** Answers `{ roots }`. */
  readonly roots?: InputHandler;
}

/** The capabilities that these handlers can serve, as they are declared with every request. */
export function declaredBy({ form, url, sampling, samplingTools, roots }: InputHandlers): ClientCapabilities {
  return {
    ...(form === undefined && url === undefined
      ? {}
      : { elicitation: { ...(form === undefined ? {} : { form: {} }), ...(url === undefined ? {} : { url: {} }) } }),
    ...(sampling === undefined ? {} : { sampling: samplingTools === true ? { tools: {} } : {} }),
    ...(roots === undefined ? {} : { roots: {} }),
  };
}

/** Thrown by a handler that cannot answer now; the drive ends as `suspended`. */
export class Suspend extends Error {
  constructor() {
    super('The question is answered later');
    this.name = 'Suspend';
  }
}
