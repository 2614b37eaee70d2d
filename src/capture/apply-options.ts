import type { Logger } from "../base/logger.ts";
import type { OwnerNames } from "./core/rule-key.ts";
import type { CaptureOptions, CaptureSettings } from "./core/settings.ts";
import type { NetworkContext } from "./network-context.ts";

export interface ApplyOptions {
  readonly settings: CaptureSettings;
  readonly options: CaptureOptions;
  readonly context: NetworkContext;
  readonly names: OwnerNames;
  readonly log: Logger;
  readonly lockFile?: string | undefined;
  /** Whether there are native tables of ours; for the quick way, which looks at nothing itself. */
  hasNative(): Promise<boolean>;
}

export interface ApplyOutcome {
  /** False when everything was in place already. */
  readonly changed: boolean;
  /** That rules of earlier runs used. */
  readonly marks: ReadonlySet<number>;
  /** Puts everything back; for failures in what the caller does next. */
  undo(): Promise<void>;
}
