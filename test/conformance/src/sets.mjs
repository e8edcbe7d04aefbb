/**
 * The requirement sets that are run: each with the program that serves the fixture over stdio, the one that serves it
 * without thv, and what `thv run` is told besides.
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
];
