import type { WorkflowDefinition } from './definition.js';
import { formatIssues, type Issue } from './issue.js';
import { validateDefinition, type ValidateOptions } from './validate.js';

/** A condition of a Kubernetes object. */
export interface StatusCondition {
  readonly type: 'Ready' | 'WorkflowValidated';
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  /** RFC 3339; kept from before where `status` did not change. */
  readonly lastTransitionTime: string;
}

/** The status block of a workflow as a Kubernetes object. */
export interface DefinitionStatus {
  readonly validationStatus: 'Valid' | 'Invalid';
  /** Absent where there is none. */
  readonly validationErrors?: readonly string[];
  readonly observedGeneration: number;
  /** Names of the servers that offer the workflow, sorted; absent where there is none. */
  readonly referencingVirtualServers?: readonly string[];
  readonly conditions: readonly StatusCondition[];
}

/** What a status depends on besides the definition. */
export interface StatusOptions {
  /** Default: that of the metadata, or 1. */
  readonly generation?: number;
  /** Names of the servers that refer to the workflow. */
  readonly referencingServers?: readonly string[];
  /** Milliseconds since 1970 UTC, or a date. @defaultValue the time of the call */
  readonly now?: number | Date;
  /** The status before, for the times of its conditions. */
  readonly previous?: { readonly conditions?: readonly Partial<StatusCondition>[] };
  /** How the definition is validated. */
  readonly validate?: ValidateOptions;
  /** Problems found elsewhere, such as a name that another workflow has. */
  readonly extraIssues?: readonly Issue[];
}

/** Makes the status block of a workflow. Warnings do not make it invalid. */
export function computeStatus(definition: WorkflowDefinition, options: StatusOptions = {}): DefinitionStatus {
  const { generation = definition.metadata?.generation ?? 1, referencingServers = [], now = Date.now() } = options;
  const { errors } = validateDefinition(definition, options.validate);
  const problems = formatIssues([
    ...errors,
    ...(options.extraIssues ?? []).filter(({ severity }) => severity === 'error'),
  ]);
  const valid = problems.length === 0;
  const count = `${problems.length} ${problems.length === 1 ? 'error' : 'errors'}`;
  const at = new Date(now).toISOString().replace(/\.\d{3}Z$/, 'Z');
  const condition = (type: StatusCondition['type'], reason: string, message: string): StatusCondition => {
    const status = valid ? 'True' : 'False';
    const before = options.previous?.conditions?.find((entry) => entry.type === type);
    const unchanged = before?.status === status ? before.lastTransitionTime : undefined;
    return { type, status, reason, message, lastTransitionTime: unchanged ?? at };
  };
  const servers = [...new Set(referencingServers)].toSorted();
  return {
    validationStatus: valid ? 'Valid' : 'Invalid',
    ...(valid ? {} : { validationErrors: problems }),
    observedGeneration: generation,
    ...(servers.length === 0 ? {} : { referencingVirtualServers: servers }),
    conditions: valid
      ? [
          condition('Ready', 'WorkflowReady', 'Workflow is valid and ready to use'),
          condition('WorkflowValidated', 'ValidationSuccess', 'All validation checks passed'),
        ]
      : [
          condition('Ready', 'WorkflowNotReady', 'Workflow has validation errors'),
          condition('WorkflowValidated', 'ValidationFailed', `Validation failed with ${count}`),
        ],
  };
}
