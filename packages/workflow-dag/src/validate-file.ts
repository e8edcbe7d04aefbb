import type { WorkflowDefinition } from './definition.js';
import { WorkflowError } from './errors.js';
import type { Issue } from './issue.js';
import type { WorkflowFile } from './parse.js';
import { nearest } from './parse/nearest.js';
import type { WorkflowServer } from './parse/server.js';
import { sortIssues, validateDefinition, type ValidateOptions, type Validation } from './validate.js';

/** How a file is validated. */
export interface ValidateFileOptions extends ValidateOptions {
  /**
   * What a reference to a workflow is that the file does not have: it may stand in another file.
   *
   * @defaultValue 'warning'
   */
  readonly missingReferences?: 'error' | 'warning';
}

/** All that there is to say about a file. */
export interface FileValidation extends Validation {
  /** In the order of the file. */
  readonly workflows: readonly { readonly definition: WorkflowDefinition; readonly validation: Validation }[];
}

/** Checks every workflow of a file, and the references of its servers. */
export function validateFile(file: WorkflowFile, options: ValidateFileOptions = {}): FileValidation {
  const workflows = file.definitions.map((definition) => ({
    definition,
    validation: validateDefinition(definition, options),
  }));
  const references = file.servers.flatMap((server) =>
    checkServer(server, workflows, options.missingReferences ?? 'warning'),
  );
  const all = [
    ...file.issues,
    ...workflows.flatMap(({ validation }) => [...validation.errors, ...validation.warnings]),
    ...references,
  ];
  const inOrder = all.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  return { ...sortIssues(inOrder), workflows };
}

/** Names of the file's servers that refer to a workflow, sorted. */
export function referencingServers(file: WorkflowFile, definition: WorkflowDefinition): string[] {
  const { metadata } = definition;
  if (metadata === undefined) return [];
  const servers = file.servers.filter(
    ({ namespace, compositeToolRefs }) =>
      namespace === (metadata.namespace ?? 'default') && compositeToolRefs.some(({ name }) => name === metadata.name),
  );
  return [...new Set(servers.map(({ name }) => name))].toSorted();
}

/**
 * The workflows that a server offers, in the order of its references.
 *
 * @throws WorkflowError `ERR_WORKFLOW_DAG_INVALID` that lists every missing and every invalid one.
 */
export function workflowsOf(
  server: WorkflowServer,
  file: WorkflowFile,
  options: ValidateOptions = {},
): WorkflowDefinition[] {
  const { workflows } = validateFile(file, options);
  const issues = checkServer(server, workflows, 'error');
  if (issues.length > 0) {
    throw new WorkflowError('ERR_WORKFLOW_DAG_INVALID', issues.map(({ message }) => message).join('; '), {
      details: { issues },
    });
  }
  return server.compositeToolRefs.flatMap(({ name }) => {
    const found = workflows.find(({ definition }) => isReferred(definition, name, server.namespace));
    return found === undefined ? [] : [found.definition];
  });
}

function checkServer(
  { namespace, compositeToolRefs }: WorkflowServer,
  workflows: FileValidation['workflows'],
  missing: 'error' | 'warning',
): Issue[] {
  return compositeToolRefs.flatMap(({ name, path, line, column }): Issue[] => {
    const place = line === undefined || column === undefined ? {} : { line, column };
    const found = workflows.find(({ definition }) => isReferred(definition, name, namespace));
    const base = { code: 'workflow/reference', path, value: name, ...place } as const;
    if (found === undefined) {
      const names = workflows.flatMap(({ definition }) => definition.metadata?.name ?? []);
      const near = nearest(name, names);
      const message = `referenced VirtualMCPCompositeToolDefinition "${name}" not found in namespace "${namespace}"`;
      const hint = near === undefined ? 'add the definition, or its file' : `did you mean "${near}"?`;
      return [{ ...base, severity: missing, message, hint }];
    }
    if (found.validation.ok) return [];
    const reasons = found.validation.errors.map(({ message }) => message).join('; ');
    const message = `Referenced VirtualMCPCompositeToolDefinition ${name} is invalid: ${reasons}`;
    return [{ ...base, severity: 'error', message, hint: 'correct the definition' }];
  });
}

function isReferred({ form, metadata }: WorkflowDefinition, name: string, namespace: string): boolean {
  return form === 'kubernetes' && metadata?.name === name && (metadata.namespace ?? 'default') === namespace;
}
