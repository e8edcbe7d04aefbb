/**
 * The requirement sets that are run: each with the program that serves the fixture over stdio, the one that serves it
 * without thv, and what `thv run` is told besides. `except` names scored scenarios that a set leaves out, with the
 * reason; `also` names scenarios that the suite does not score and that must pass nevertheless.
 */
export const sets = [
  {
    revision: '2025-11-25',
    role: 'server',
    fixture: ['stdio.mjs', 'legacy'],
    direct: 'http.mjs',
    // Only a process of its own for each session lets a server ask its client.
    options: ['--isolation', 'session'],
  },
  {
    revision: '2026-07-28',
    role: 'server',
    fixture: ['stdio.mjs', 'modern'],
    direct: 'modern-http.mjs',
    options: [],
    also: ['http-custom-header-server-validation', 'http-header-validation'],
  },
  {
    revision: '2025-11-25',
    role: 'server',
    name: 'of the other era',
    fixture: ['stdio.mjs', 'modern'],
    options: ['--isolation', 'session'],
  },
  {
    revision: '2026-07-28',
    role: 'server',
    name: 'of the other era',
    fixture: ['stdio.mjs', 'legacy'],
    options: ['--isolation', 'lease'],
    except: {
    },
  },
];
