import { buildStamp } from "../base/build-stamp.ts";

/**
 * What the node says as its ISTIO_VERSION. Control planes leave out what the proxies of older releases would not understand, and read the
 * numbers in front only: so those are the release the agent behaves as, and its own version follows.
 */
export function reportedVersion(release: string): string {
  return `${release}.0-pilot-agent.${buildStamp.version}`;
}
