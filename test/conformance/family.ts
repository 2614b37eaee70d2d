/** One golden case. `run` resolves to the first difference from what the case expects, or to undefined when it passes. */
export interface ConformanceCase {
  readonly name: string;
  /** Why the case cannot pass yet, in words; such a case is told and not run. */
  readonly unsupported?: string;
  run(): Promise<string | undefined>;
}

/** One kind of golden data, in the format of ../shared/conformance/NAME (see the README there). */
export interface ConformanceFamily {
  readonly name: string;
  /** Reads any folder of cases of this kind; rejects when the folder cannot be read. */
  load(dir: string): Promise<readonly ConformanceCase[]>;
}
