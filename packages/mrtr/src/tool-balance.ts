import { MrtrError } from './errors.js';
import { isObject, own } from './json.js';

/**
 * Refuses messages in which a use of a tool has no result: the next message of the user holds exactly the results.
 *
 * @throws MrtrError `ERR_MRTR_ASK`
 */
export function checkToolBalance(messages: readonly unknown[]): void {
  for (const [index, message] of messages.entries()) {
    const uses = blocksOf(message, 'tool_use').map((block) => own(block, 'id'));
    if (uses.length === 0) continue;
    const next = messages[index + 1];
    if (next === undefined) continue;
    const results = blocksOf(next, 'tool_result').map((block) => own(block, 'toolUseId'));
    const missing = uses.find((id) => !results.includes(id));
    if (missing !== undefined)
      throw refused(`messages[${index + 1}] has no result of the tool use ${JSON.stringify(missing)}`);
    if (results.length !== allBlocks(next).length) {
      throw refused(`messages[${index + 1}] must hold results of tools alone`);
    }
  }
}

const allBlocks = (message: unknown): readonly unknown[] => {
  const content = isObject(message) ? own(message, 'content') : undefined;
  return Array.isArray(content) ? content : [content];
};

const blocksOf = (message: unknown, type: string): readonly object[] =>
  allBlocks(message).filter((block): block is object => isObject(block) && own(block, 'type') === type);

const refused = (message: string): MrtrError => new MrtrError('ERR_MRTR_ASK', message);
