import { createInterface } from 'node:readline';
import { answer } from './answers.mjs';

if (process.argv.includes('--die')) {
  process.stderr.write('no license found\n');
  process.exit(1);
}
if (process.argv.includes('--mute')) setInterval(() => undefined, 1000);
else {
  const prefix = process.env.PREFIX ?? '';
  for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line);
    if (message.id === undefined) continue;
    // One that takes long must not hold up the others.
    void answer(message, prefix).then((body) =>
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body })}\n`),
    );
  }
}
