import type { Logger } from "../../base/logger.ts";
import { type FileWatch, watchFiles } from "../../files/watch/watch-files.ts";
import type { IdentityMetrics } from "../metrics.ts";
import { isMissing } from "./read-file.ts";

export interface WatchContentOptions {
  readonly paths: readonly string[];
  readonly debounceMs: number;
  readonly log: Logger;
  readonly metrics: IdentityMetrics;
  /** Something that changes exactly with the content; rejects while the files are not valid. */
  version(): Promise<string>;
  onChange(): void;
}

const MISSING = "missing";

/**
 * Reports content that changed and is valid: events without a new content (touch, equal bytes) and states on the way (a new key beside
 * the old certificate) are passed over. A deleted file is a change too, so that whoever serves it learns that it is gone.
 */
export async function watchContent(options: WatchContentOptions): Promise<FileWatch> {
  let known: string | undefined;
  const onEvent = async () => {
    const version = await currentVersion(options);
    if (version === undefined || version === known) return;
    const first = known === undefined;
    known = version;
    // A file that was never there is not a deleted one.
    if (!(first && version === MISSING)) options.onChange();
  };
  const { paths, debounceMs, log } = options;
  const watch = await watchFiles({
    paths,
    debounceMs,
    log,
    onEvent,
    onFailure: () => options.metrics.fileWatcherFailures.inc(),
  });
  known = await currentVersion(options);
  return watch;
}

async function currentVersion(options: WatchContentOptions): Promise<string | undefined> {
  try {
    return await options.version();
  } catch (thrown) {
    if (isMissing(thrown)) return MISSING;
    options.log.debug("changed files are not valid yet", { paths: options.paths });
    return undefined;
  }
}
