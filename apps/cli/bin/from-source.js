// Runs the command line from the TypeScript sources of the workspace, in this very process: no second process stands
// between the terminal and the program, so that signals, exit codes and the detached supervisor work as they do from dist.
// Started by itself it takes the sources also where `dist` is built.
import { realpathSync } from 'node:fs';
import * as module from 'node:module';
import { fileURLToPath } from 'node:url';
import { register as registerTsx } from 'tsx/esm/api';

const condition = '@thv/source';

/** Points every package of the workspace to its sources, by their private export condition. */
function preferSources() {
  if (module.registerHooks !== undefined) {
    module.registerHooks({
      resolve: (specifier, context, nextResolve) =>
        nextResolve(specifier, { ...context, conditions: [condition, ...context.conditions] }),
    });
    return;
  }
  // Node 20 knows hooks in a thread of their own only.
  const hook = `export function resolve(specifier, context, nextResolve) {
    return nextResolve(specifier, { ...context, conditions: ['${condition}', ...context.conditions] });
  }`;
  module.register(`data:text/javascript,${encodeURIComponent(hook)}`);
}

/** Loads `src/main.ts`. */
export async function runFromSource() {
  registerTsx();
  preferSources();
  await import(new URL('../src/main.ts', import.meta.url).href);
}

const [, started] = process.argv;
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) await runFromSource();
