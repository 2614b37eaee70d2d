import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { watchContents } from "../files/watch/watch-contents.ts";
import { certificateFileSet, unmatchedPair } from "./certificate-files.ts";

const SETTLE_MS = 100;

export interface ClientCertificateWatch {
  readonly chain: string;
  readonly key: string;
  readonly log: Logger;
  /** The pair has changed as a whole. */
  onRotated(): void;
}

/** The certificate that the control plane is shown. A chain whose key is still to be written is waited for. */
export function watchClientCertificate({ chain, key, log, onRotated }: ClientCertificateWatch): Handle {
  const files = certificateFileSet(chain, key, []);
  let isFirst = true;
  return watchContents({
    files: files.files,
    settleMs: SETTLE_MS,
    log,
    onChange: () => {
      // The first report is what the streams were opened with.
      if (!isFirst && unmatchedPair(files) === undefined) onRotated();
      isFirst = false;
    },
  });
}
