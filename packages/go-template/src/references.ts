import type { Expression, PipeNode, Statement } from './nodes.js';
import { sortTexts } from './text.js';
import { templateTrees, type Template } from './template.js';

function collectPipe(pipe: PipeNode | undefined, found: Set<string>): void {
  for (const { args } of pipe?.commands ?? []) for (const arg of args) collect(arg, found);
}

function collect(node: Expression, found: Set<string>): void {
  switch (node.kind) {
    case 'field':
      found.add(`.${node.path.join('.')}`);
      break;
    case 'chain':
      found.add(`.${node.path.join('.')}`);
      collect(node.node, found);
      break;
    case 'pipe':
      collectPipe(node, found);
      break;
    default:
  }
}

function collectList(list: readonly Statement[], found: Set<string>): void {
  for (const node of list) {
    if (!('pipe' in node)) continue;
    collectPipe(node.pipe, found);
    if (!('list' in node)) continue;
    collectList(node.list, found);
    collectList(node.otherwise ?? [], found);
  }
}

/**
 * Lists the chains of fields in a template and in all that it defines, for example `.steps.a.output`. A chain is given as
 * it stands: relative to whatever dot is there. Chains after a parenthesis are listed, those of a variable (`$.steps.a`)
 * are not.
 *
 * @returns Each once, in the order of their bytes.
 * @throws {@link GoTemplateError} `ERR_GO_TEMPLATE_ARGUMENT` for something that `parseTemplate` did not make.
 */
export function references(template: Template): readonly string[] {
  const found = new Set<string>();
  for (const list of templateTrees(template).values()) collectList(list, found);
  return sortTexts([...found]);
}
