// Runs the command line from the TypeScript sources of the workspace, in this very process: no second process stands
// between the terminal and the program, so that signals, exit codes and the detached supervisor work as they do from dist.
// Started by itself it takes the sources also where `dist` is built.
import { realpathSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { register as registerTsx } from 'tsx/esm/api';

const sourceCondition = `
export function resolve(specifier, context, nextResolve) {
  return nextResolve(specifier, { ...context, conditions: ['@thv/source', ...context.conditions] });
}`;

/** Loads `src/main.ts` with the private export condition that points every package of the workspace to its sources. */
export async function runFromSource() {
  registerTsx();
  register(`data:text/javascript,${encodeURIComponent(sourceCondition)}`);
  await import(new URL('../src/main.ts', import.meta.url).href);
}

const [, started] = process.argv;
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) await runFromSource();
