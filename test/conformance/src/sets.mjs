/**
 * The requirement sets that are run. A set of a server has the program that serves the fixture over stdio, the one that
 * serves it without thv, and what `thv run` is told besides; a set of a client has the program. `name` tells sets of one
 * revision apart. `only` names the scored scenarios of a set, `except` those that it leaves out, with the reason,
 * `exceptChecks` single checks of a scenario; `also` names scenarios that the suite does not score and that must pass
 * nevertheless.
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
    also: ['http-custom-header-server-validation', 'http-header-validation', 'json-schema-2020-12'],
  },
  {
    revision: '2025-11-25',
    role: 'server',
    name: 'a server of 2026-07-28 behind it',
    fixture: ['stdio.mjs', 'modern'],
    options: ['--isolation', 'session'],
    except: {
      'tools-call-with-logging': 'a log message of 2026-07-28 on stdio does not say which request it belongs to',
    },
  },
  {
    revision: '2026-07-28',
    role: 'server',
    name: 'a server of 2025-11-25 behind it',
    fixture: ['stdio.mjs', 'legacy'],
    options: ['--isolation', 'lease'],
    also: ['http-custom-header-server-validation', 'http-header-validation', 'json-schema-2020-12'],
    except: {
      // The keys are ours there, since a Legacy request has none.
      'input-required-result-basic-elicitation': 'wants the key of the question to be user_name',
    },
    exceptChecks: {
      // The server gives up by itself when a tool needs what the client has not declared; nobody tells the gateway why.
      'server-stateless': ['sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400'],
    },
  },
  {
    revision: '2026-07-28',
    role: 'client',
    name: 'the driver of @thv/mrtr',
    client: 'main.mjs',
    // What is left out is authorization.
    only: [
      'tools_call',
      'request-metadata',
      'sep-2322-client-request-state',
      'http-standard-headers',
      'http-custom-headers',
      'http-invalid-tool-headers',
      'json-schema-ref-no-deref',
    ],
    also: ['json-schema-2020-12-preservation'],
  },
];
