#!/usr/bin/env node
// Runs the built program where it exists; in a checkout that was never built, the sources through tsx.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/main.js', import.meta.url);
if (existsSync(fileURLToPath(built))) {
  await import(built.href);
} else {
  const { runFromSource } = await import('./from-source.js');
  await runFromSource();
}
