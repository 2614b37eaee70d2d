export interface DemoAppOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  print(line: string): void;
}

/** Limit of one call between applications of the demo. */
export const CALL_MS = 3000;
