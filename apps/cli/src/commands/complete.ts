import { complete } from '../completion.js';
import { buildProgram } from '../program.js';
import type { RegisterCommand } from './index.js';

/** What the scripts of `thv completion` call. Whatever fails, it prints nothing but candidates. */
export const register: RegisterCommand = (command, context) => {
  command
    .argument('[words...]')
    .allowUnknownOption()
    .helpOption(false)
    .action(async () => {
      const at = context.argv.indexOf('__complete');
      const words = [...context.argv.slice(at + 1), ...(context.rest === undefined ? [] : ['--', ...context.rest])];
      const inner = { ...context, argv: words };
      const { suggestions, files } = await complete(await buildProgram(inner), words, inner).catch(() => ({
        suggestions: [],
        files: false,
      }));
      for (const { word, description } of suggestions) {
        const [line = ''] = description.split('\n');
        context.out(line === '' ? word : `${word}\t${line}`);
      }
      context.out(files ? ':0' : ':4');
    });
};
