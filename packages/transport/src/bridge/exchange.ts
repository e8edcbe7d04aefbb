import { Agent, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { rootCertificates } from 'node:tls';
import { classifyError } from '../http/forward/upstream-error.js';

/** A request that can be given up. */
export interface Asked {
  /** Rejects with an `EndpointError`. */
  readonly response: Promise<IncomingMessage>;
  abort(): void;
}

/** The endpoint did not answer; the message says why and what to do. */
export class EndpointError extends Error {
  /** The endpoint cannot have seen the request. */
  readonly isBeforeRequest: boolean;
  /** A kept connection was closed at this very moment, so most likely neither. */
  readonly isStale: boolean;

  constructor(message: string, isBeforeRequest: boolean, isStale = false) {
    super(message);
    this.name = 'EndpointError';
    this.isBeforeRequest = isBeforeRequest;
    this.isStale = isStale;
  }
}

/** Requests to one endpoint without any timeout: a tool may take an hour, a stream a day. */
export class Endpoint {
  readonly url: URL;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>>, caBundle: readonly string[]) {
    this.url = new URL(url);
    this.#headers = headers;
    const trust = caBundle.length === 0 ? {} : { ca: [...rootCertificates, ...caBundle] };
    this.#agent =
      this.url.protocol === 'https:' ? new HttpsAgent({ keepAlive: true, ...trust }) : new Agent({ keepAlive: true });
  }

  ask(
    method: string,
    options: { readonly headers: Readonly<Record<string, string>>; readonly body?: Buffer; readonly url?: URL },
  ): Asked {
    const { body, url = this.url } = options;
    const length: Record<string, string> = body === undefined ? {} : { 'content-length': String(body.length) };
    const outgoing: ClientRequest = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method,
      agent: this.#agent,
      headers: { ...this.#headers, ...options.headers, ...length },
    });
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', (incoming) => {
        incoming.on('error', () => undefined);
        resolve(incoming);
      });
      outgoing.on('error', (error) => {
        const failure = classifyError(error, url.host);
        const isStale = outgoing.reusedSocket && failure.class === 'disconnected';
        reject(new EndpointError(failure.message, failure.isBeforeRequest, isStale));
      });
      outgoing.once('close', () => reject(new EndpointError('The request was given up', false)));
    });
    outgoing.end(body);
    return { response, abort: () => outgoing.destroy() };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A whole body, up to a limit. */
export async function readAll(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) throw new EndpointError(`The answer is larger than ${maxBytes} bytes`, false);
    chunks.push(chunk as Buffer);
  }
  if (!incoming.complete) throw new EndpointError('Half an answer arrived; send the request again', false);
  return Buffer.concat(chunks, size);
}

/** What a status says, with the beginning of the body where it helps. */
export function statusText(status: number, body: Buffer): string {
  const text = body.toString('utf8', 0, 300).trim();
  const remedy =
    status === 401 || status === 403
      ? '; the server wants credentials'
      : status === 404
        ? '; check the URL'
        : status >= 500
          ? '; look at the log of the server'
          : '';
  return `The server answered with status ${status}${remedy}${text === '' ? '' : `: ${text}`}`;
}
