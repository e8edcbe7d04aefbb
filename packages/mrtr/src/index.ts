export type {
  ClientCapabilities,
  InputRequest,
  InputRequestMethod,
  InputRequests,
  InputRequiredResult,
  InputRequiringMethod,
  InputResponseRequestParams,
  InputResponses,
  JsonObject,
  JsonValue,
} from './types.js';
