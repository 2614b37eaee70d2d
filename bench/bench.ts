/** One measured figure. `ratio` compares it with a baseline of the same run; the goal says what is good in words. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly ratio?: { readonly to: string; readonly value: number };
  readonly goal?: string;
}

export interface BenchContext {
  /** Another pilot-agent binary to measure side by side. */
  readonly peer: string | undefined;
  /** The built launcher of this project. */
  readonly program: string;
  /** Progress, on stderr. */
  note(text: string): void;
}

/** The default export of every `bench/NAME.bench.ts`. */
export interface Bench {
  readonly name: string;
  run(context: BenchContext): Promise<readonly BenchRow[]>;
}
