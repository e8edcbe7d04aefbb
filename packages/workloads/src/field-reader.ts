import { WorkloadsError } from './errors.js';
import { describe } from './json-file.js';

/** Reads typed fields of a parsed file; a missing field or `null` gives the fallback, another type is refused. */
export interface FieldReader {
  string(name: string, fallback: string): string;
  integer(name: string, fallback: number, minimum: number, maximum: number): number;
  boolean(name: string): boolean;
  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T;
  strings(name: string): string[];
  record(name: string): Record<string, string>;
}

/** @throws WorkloadsError `ERR_WORKLOADS_FILE` from each method, with the file and the field. */
export function createFieldReader(fields: ReadonlyMap<string, unknown>, path: string, remedy: string): FieldReader {
  const refuse = (name: string, expected: string, value: unknown): never => {
    throw new WorkloadsError(
      'ERR_WORKLOADS_FILE',
      `${path}: expected "${name}" to be ${expected}, got ${describe(value)}`,
      {
        details: { file: path, field: name, hint: remedy },
      },
    );
  };
  const get = (name: string): unknown => fields.get(name) ?? undefined;
  return {
    string(name, fallback) {
      const value = get(name) ?? fallback;
      return typeof value === 'string' ? value : refuse(name, 'text', value);
    },
    integer(name, fallback, minimum, maximum) {
      const value = get(name) ?? fallback;
      const fits = typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum;
      return fits ? value : refuse(name, `a whole number from ${minimum} to ${maximum}`, value);
    },
    boolean(name) {
      const value = get(name) ?? false;
      return typeof value === 'boolean' ? value : refuse(name, 'true or false', value);
    },
    choice(name, choices, fallback) {
      const value = get(name) ?? fallback;
      return choices.find((choice) => choice === value) ?? refuse(name, `one of ${choices.join(', ')}`, value);
    },
    strings(name) {
      const value = get(name) ?? [];
      if (!Array.isArray(value)) return refuse(name, 'an array of texts', value);
      return value.map((item: unknown, index) =>
        typeof item === 'string' ? item : refuse(`${name}[${index}]`, 'text', item),
      );
    },
    record(name) {
      const value = get(name) ?? {};
      if (typeof value !== 'object' || Array.isArray(value)) return refuse(name, 'an object of texts', value);
      const result: Record<string, string> = Object.create(null) as Record<string, string>;
      for (const [key, item] of Object.entries(value)) {
        result[key] = typeof item === 'string' ? item : refuse(`${name}.${key}`, 'text', item);
      }
      return { ...result };
    },
  };
}
