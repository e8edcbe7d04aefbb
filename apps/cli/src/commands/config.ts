import type { CliContext } from '../context.js';
import { completeArguments } from '../completion.js';
import { formatOption } from '../options.js';
import { formatTable } from '../output/table.js';
import { parseKey, readSettings, settingDefinitions, settingKeys, settingsPath, writeSetting } from '../settings.js';
import type { RegisterCommand } from './index.js';

interface FormatFlags {
  readonly format: 'text' | 'json';
}

const keys = async (): Promise<readonly string[]> => Promise.resolve(settingKeys);

export const register: RegisterCommand = (command, context) => {
  command.description(
    'Read and write the defaults of this user. A flag wins over the environment, the environment over the file.',
  );
  completeArguments(command.command('get'), keys)
    .description('Print the value of a key.')
    .argument('<key>', 'Name of the setting')
    .addOption(formatOption())
    .action(async (name: string, { format }: FormatFlags) => {
      const setting = (await readSettings(context)).get(parseKey(name));
      if (format === 'json') context.json(setting);
      else context.out(setting?.value ?? '');
    });
  completeArguments(command.command('set'), keys)
    .description('Set a key for good.')
    .argument('<key>', 'Name of the setting')
    .argument('<value>', 'Its value')
    .addOption(formatOption())
    .action(async (name: string, value: string, { format }: FormatFlags) => {
      await writeSetting(parseKey(name), value, context);
      if (format === 'json') context.json({ key: name, value, path: settingsPath(context) });
      context.note(`${name} is ${value} from now on (${settingsPath(context)})`);
    });
  completeArguments(command.command('unset'), keys)
    .description('Give a key its default back.')
    .argument('<key>', 'Name of the setting')
    .addOption(formatOption())
    .action(async (name: string, { format }: FormatFlags) => {
      const key = parseKey(name);
      await writeSetting(key, undefined, context);
      if (format === 'json')
        context.json({ key, value: settingDefinitions[key].fallback, path: settingsPath(context) });
      context.note(`${key} is ${settingDefinitions[key].fallback} again`);
    });
  command
    .command('list')
    .alias('ls')
    .description('Print all keys with their values.')
    .option('--show-origin', 'Where each value comes from')
    .addOption(formatOption())
    .action(async (flags: FormatFlags & { readonly showOrigin?: boolean }) => list(flags, context));
};

async function list(
  { format, showOrigin = false }: FormatFlags & { readonly showOrigin?: boolean },
  context: CliContext,
): Promise<void> {
  const settings = [...(await readSettings(context)).values()];
  if (format === 'json') {
    context.json(settings);
    return;
  }
  const path = settingsPath(context);
  const rows = settings.map(({ key, value, origin }) => {
    const from = origin === 'file' ? path : origin;
    return showOrigin ? [key, value, from] : [key, value, settingDefinitions[key].summary];
  });
  context.write(formatTable(['KEY', 'VALUE', showOrigin ? 'ORIGIN' : 'MEANING'], rows));
}
