// What the second protocol era costs: sealed state against the bare cipher, and the Modern edge against the Legacy one.
import { measureEdges } from './mrtr/edges.mjs';
import { measureState } from './mrtr/state.mjs';

/** Both parts; each is measured in turns with its reference. */
export async function run(report, { reps = 9, ms = 600 }) {
  await measureState(report, reps);
  await measureEdges(report, reps, ms);
}
