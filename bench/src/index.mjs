/**
 * Every benchmark: what it measures, whether it needs the peers of package.json installed, and its module, which exports
 * `run(report, { reps, ms })`. A module is loaded only when it is asked for; `reps` and `ms` are `undefined` unless given.
 */
export const benchmarks = {
  proxy: {
    summary: 'stdio to Streamable HTTP, against the bare proxy and two others: CPU, throughput, latency, memory, start',
    peers: true,
    load: () => import('./proxy/proxy.mjs'),
  },
  http: {
    summary: 'HTTP to HTTP, against a minimal proxy and two others: CPU, throughput, latency, memory of open streams',
    peers: true,
    load: () => import('./http/http.mjs'),
  },
  mrtr: {
    summary: 'sealed request state against the bare cipher, and calls of Modern clients against those of Legacy ones',
    peers: false,
    load: () => import('./mrtr.mjs'),
  },
  workflow: {
    summary: 'scheduling, whole runs and templates, against an in-degree scheduler, p-limit levels and p-graph',
    peers: true,
    load: () => import('./workflow.mjs'),
  },
  store: {
    summary: 'durable steps on SQLite, against the bare pair of statements',
    peers: false,
    load: () => import('./store.mjs'),
  },
  skills: {
    summary: 'packing, unpacking and verifying a skill, against tar-stream, node-tar and the bare limit',
    peers: true,
    load: () => import('./skills.mjs'),
  },
};
