import { relative, isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Issue } from '@thv/workflow-dag';
import { version } from '../../version.js';

/** Findings as SARIF 2.1.0. @see https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
export function toSarif(path: string, issues: readonly Issue[]): object {
  const rules = [...new Set(issues.map(({ code }) => code))];
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'thv', version, rules: rules.map((id) => ({ id })) } },
        results: issues.map(({ code, severity, message, hint, line, column }) => ({
          ruleId: code,
          ruleIndex: rules.indexOf(code),
          level: severity,
          message: { text: hint === undefined ? message : `${message} (${hint})` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(path) },
                ...(line === undefined ? {} : { region: { startLine: line, startColumn: column ?? 1 } }),
              },
            },
          ],
        })),
      },
    ],
  };
}

function uriOf(path: string): string {
  if (path === '-') return 'stdin';
  if (isAbsolute(path)) return pathToFileURL(path).href;
  return relative('', path).split('\\').map(encodeURI).join('/');
}
