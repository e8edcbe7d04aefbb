import { OciSkillsError } from '../errors.js';
import { formatReference } from '../reference.js';
import { printable } from '../text.js';
import type { Reference } from '../types.js';
import type { Answer } from './transport.js';

/** The first error that a registry's answer names. @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes */
function reported(answer: Answer): string {
  try {
    const json = JSON.parse(answer.body.toString('utf8')) as {
      readonly errors?: readonly { readonly code?: unknown; readonly message?: unknown }[];
    };
    const first = json.errors?.[0];
    const parts = [first?.code, first?.message].filter((part) => typeof part === 'string' && part !== '');
    return parts.length === 0 ? '' : ` (${printable(parts.join(': '), 200)})`;
  } catch {
    return '';
  }
}

/** The error for an answer that is no success. `what` says what was being done. */
export function failure(reference: Reference, answer: Answer, what: string): OciSkillsError {
  const { status } = answer;
  const name = formatReference(reference);
  const details = { reference: name, status };
  const saying = `The registry answered ${status}${reported(answer)} to ${what} \`${printable(name, 300)}\``;
  if (status === 401 || status === 403) {
    return new OciSkillsError('ERR_OCI_SKILLS_UNAUTHORIZED', `${saying}; sign in with an account that may do that`, {
      details,
    });
  }
  if (status === 404)
    return new OciSkillsError('ERR_OCI_SKILLS_NOT_FOUND', `${saying}; check the name and the tag`, { details });
  if (status === 429)
    return new OciSkillsError('ERR_OCI_SKILLS_RATE_LIMITED', `${saying}; wait a while and try again`, { details });
  return new OciSkillsError('ERR_OCI_SKILLS_REGISTRY', `${saying}; try again, or ask the registry's operator`, {
    details,
  });
}
