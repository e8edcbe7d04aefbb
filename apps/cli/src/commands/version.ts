import type { RegisterCommand } from './index.js';
import { formatOption } from '../options.js';
import { version } from '../version.js';

export const register: RegisterCommand = (command, context) => {
  command.addOption(formatOption()).action(({ format }: { format: 'text' | 'json' }) => {
    const details = {
      version,
      node_version: process.version,
      platform: `${process.platform}/${process.arch}`,
    };
    if (format === 'json') context.json(details);
    else context.write(`thv ${version}\nNode: ${details.node_version}\nPlatform: ${details.platform}\n`);
  });
};
