export declare function answer(
  message: { readonly method: string; readonly params?: Readonly<Record<string, unknown>> },
  prefix?: string,
): Promise<Readonly<Record<string, unknown>>>;
