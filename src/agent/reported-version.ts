import { buildStamp } from "../base/build-stamp.ts";
import type { Generation } from "../istio-api/generations.ts";

/** The release that generation "master" is. */
const MASTER_RELEASE = "1.31";

/**
 * What the node says as its ISTIO_VERSION. Control planes leave out what the proxies of older releases would not understand, and read the
 * numbers in front only: so those are the release the agent behaves as, and its own version follows.
 */
export function reportedVersion(generation: Generation): string {
  const release = generation === "master" ? MASTER_RELEASE : generation;
  return `${release}.0-pilot-agent.${buildStamp.version}`;
}
