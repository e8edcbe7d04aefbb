import { join } from 'node:path';
import { createFieldReader } from './field-reader.js';
import { readJsonObject, removeFile, writeJson } from './json-file.js';
import type { Paths } from './paths.js';
import type { ProcessIdentity } from './process-identity.js';

/** The words that `list` and `status` use. */
export const workloadStatuses = [
  'running',
  'stopped',
  'error',
  'starting',
  'stopping',
  'unhealthy',
  'removing',
  'unknown',
] as const;

export type WorkloadStatus = (typeof workloadStatuses)[number];

/** What the supervisor of a workload last wrote down; times are RFC 3339. */
export interface StatusRecord {
  readonly status: WorkloadStatus;
  /** Why, in words; empty when there is nothing to say. */
  readonly status_context: string;
  readonly created_at: string;
  readonly updated_at: string;
  /** When the supervisor began; empty when none runs. */
  readonly started_at: string;
  /** The supervisor; `undefined` when none runs. */
  readonly supervisor?: ProcessIdentity;
  /** The server processes, each the leader of its process group. */
  readonly children: readonly ProcessIdentity[];
  /** How often the server was started again since the supervisor began. */
  readonly restarts: number;
}

/** The status files of this user, one a workload. */
export interface StatusStore {
  pathOf(name: string): string;
  /** `undefined` when nothing was ever written. @throws WorkloadsError `ERR_WORKLOADS_FILE` */
  read(name: string): Promise<StatusRecord | undefined>;
  write(name: string, record: StatusRecord): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Opens the folder of status files; it is created on the first write. */
export function createStatusStore(paths: Pick<Paths, 'statuses'>): StatusStore {
  const pathOf = (name: string): string => join(paths.statuses, `${name}.json`);
  return {
    pathOf,
    async read(name) {
      const path = pathOf(name);
      const remedy = `remove ${path}; it is written anew by: thv start ${name}`;
      const fields = await readJsonObject(path, remedy);
      if (fields === undefined) return undefined;
      const read = createFieldReader(fields, path, remedy);
      const pid = read.integer('process_id', 0, 0, Number.MAX_SAFE_INTEGER);
      const children = fields.get('children');
      return {
        status: read.choice('status', workloadStatuses, 'unknown'),
        status_context: read.string('status_context', ''),
        created_at: read.string('created_at', ''),
        updated_at: read.string('updated_at', ''),
        started_at: read.string('started_at', ''),
        ...(pid === 0 ? {} : { supervisor: { pid, startedAt: read.string('process_started', '') } }),
        children: Array.isArray(children) ? children.filter(isIdentity) : [],
        restarts: read.integer('restarts', 0, 0, Number.MAX_SAFE_INTEGER),
      };
    },
    async write(name, record) {
      const { supervisor, ...rest } = record;
      await writeJson(pathOf(name), {
        ...rest,
        process_id: supervisor?.pid ?? 0,
        process_started: supervisor?.startedAt ?? '',
      });
    },
    remove: async (name) => removeFile(pathOf(name)),
  };
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return (
    typeof value === 'object' &&
    value !== null &&
    'pid' in value &&
    typeof value.pid === 'number' &&
    Number.isSafeInteger(value.pid) &&
    value.pid > 1 &&
    'startedAt' in value &&
    typeof value.startedAt === 'string'
  );
}
