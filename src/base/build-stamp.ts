/** What the build knows of itself; every value is "unknown" where it was not stamped, as when running from sources. */
export interface BuildStamp {
  readonly version: string;
  readonly revision: string;
  readonly status: string;
  readonly tag: string;
}

declare const __BUILD_STAMP__: BuildStamp | undefined;

const UNSTAMPED: BuildStamp = { version: "unknown", revision: "unknown", status: "unknown", tag: "unknown" };

export const buildStamp: BuildStamp = typeof __BUILD_STAMP__ === "undefined" ? UNSTAMPED : __BUILD_STAMP__;

/** The one-line form used in logs. */
export function formatVersion(stamp: BuildStamp): string {
  return `${stamp.version}-${stamp.revision}-${stamp.status}`;
}
