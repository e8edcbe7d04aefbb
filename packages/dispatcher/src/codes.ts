import { RPC_CODES } from '@thv/transport';

/** Not one JSON value. */
export const PARSE_ERROR: number = RPC_CODES.parseError;
/** JSON, but no acceptable JSON-RPC message. */
export const INVALID_REQUEST: number = RPC_CODES.invalidRequest;
/** The method is unknown, or refused. */
export const METHOD_NOT_FOUND: number = RPC_CODES.methodNotFound;
/** The parameters do not fit the method. */
export const INVALID_PARAMS: number = RPC_CODES.invalidParams;
/** The request could not be carried out. */
export const INTERNAL_ERROR: number = RPC_CODES.internalError;
/** No answer in time (before 2026-07-28 only). */
export const TIMEOUT: number = RPC_CODES.timeout;
/** The session is unknown or over (before 2026-07-28 only). */
export const SESSION_NOT_FOUND: number = RPC_CODES.sessionNotFound;
/** The version of the protocol is not served here (from 2026-07-28 on). */
export const UNSUPPORTED_VERSION: number = RPC_CODES.unsupportedVersion;
