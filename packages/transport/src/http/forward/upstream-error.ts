/** Why a server could not be reached or did not answer as one. */
export type UpstreamClass =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'disconnected'
  | 'protocol'
  | 'truncated'
  | 'content-type'
  | 'login-page'
  | 'redirect-private'
  | 'redirect-loop'
  | 'redirect-body'
  | 'credentials';

/** A failure towards the server, ready for the client and for the log. */
export interface UpstreamFailure {
  readonly class: UpstreamClass;
  readonly status: 502 | 503 | 504;
  /** What happened, with the value, and what to do. */
  readonly message: string;
  /** The server cannot have seen the request. */
  readonly isBeforeRequest: boolean;
  /** The code of the system or of TLS. */
  readonly code?: string;
}

/** Makes a failure of a class; 502 unless another status is given. */
export const upstreamFailure = (
  kind: UpstreamClass,
  message: string,
  more: Partial<Pick<UpstreamFailure, 'status' | 'isBeforeRequest' | 'code'>> = {},
): UpstreamFailure => ({ class: kind, status: 502, isBeforeRequest: false, message, ...more });

const TLS = /^(?:CERT_|ERR_TLS|ERR_SSL|ERR_OSSL|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|EPROTO)/;
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_|DEPTH_ZERO|INVALID_CA/;

/** Sorts an error of a socket into a class. Contents of certificates stay out of the text. */
export function classifyError(error: unknown, host: string): UpstreamFailure {
  const { code = '', syscall, message = String(error) } = (error ?? {}) as NodeJS.ErrnoException;
  const before = { isBeforeRequest: true, code };
  if (syscall === 'getaddrinfo') {
    return upstreamFailure('dns', `The name of ${host} could not be resolved (${code}); check the URL`, before);
  }
  if (TLS.test(code)) {
    return upstreamFailure('tls', `TLS with ${host} failed (${code}); ${tlsRemedy(code)}`, before);
  }
  if (code === 'ERR_CONNECT_TIMEOUT') {
    const text = `${host} took no connection in time: ${message}; check the server, or allow more time`;
    return upstreamFailure('timeout', text, { ...before, status: 504 });
  }
  if (syscall === 'connect' || (error instanceof AggregateError && code !== '')) {
    return upstreamFailure(
      'connect',
      `${host} could not be reached (${code}); check that the server runs and listens there`,
      before,
    );
  }
  if (code.startsWith('HPE_')) {
    return upstreamFailure('protocol', `${host} does not answer in HTTP (${code}); check port and scheme`, { code });
  }
  return upstreamFailure(
    'disconnected',
    `${host} closed the connection before it answered (${code || message}); look at the log of the server, then send again`,
    { code },
  );
}

function tlsRemedy(code: string): string {
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired and must be renewed';
  if (code.includes('ALTNAME') || code === 'HOSTNAME_MISMATCH')
    return 'its certificate is for another name; check the URL';
  if (UNTRUSTED.test(code)) return 'its certificate is not trusted; name its authority with a CA bundle';
  return 'check that the port speaks TLS';
}
