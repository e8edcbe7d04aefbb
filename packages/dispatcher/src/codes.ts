/** Not one JSON value. */
export const PARSE_ERROR = -32700;
/** JSON, but no acceptable JSON-RPC message. */
export const INVALID_REQUEST = -32600;
/** The method is unknown, or refused. */
export const METHOD_NOT_FOUND = -32601;
/** The parameters do not fit the method. */
export const INVALID_PARAMS = -32602;
/** The request could not be carried out. */
export const INTERNAL_ERROR = -32603;
/** No answer in time (before 2026-07-28 only). */
export const TIMEOUT = -32000;
/** The session is unknown or over (before 2026-07-28 only). */
export const SESSION_NOT_FOUND = -32001;
/** A header contradicts the body (from 2026-07-28 on). */
export const HEADER_MISMATCH = -32020;
/** The version of the protocol is not served here (from 2026-07-28 on). */
export const UNSUPPORTED_VERSION = -32022;
