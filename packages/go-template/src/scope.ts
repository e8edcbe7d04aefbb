/** A template while it is read: which variables it knows, and how many ranges are open. */
export class Scope {
  ranges = 0;
  readonly #names: string[] = [];
  /** How many variables of a name there are: a source may declare very many. */
  readonly #counts = new Map<string, number>([['$', 1]]);

  get size(): number {
    return this.#names.length;
  }

  declare(name: string): void {
    this.#names.push(name);
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  knows(name: string): boolean {
    return (this.#counts.get(name) ?? 0) > 0;
  }

  /** Forgets the youngest variables. */
  shrink(size: number): void {
    for (const name of this.#names.splice(size)) this.#counts.set(name, (this.#counts.get(name) ?? 0) - 1);
  }
}
