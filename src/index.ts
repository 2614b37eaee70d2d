/** The library's door. */
export { buildStamp } from "./base/build-stamp.ts";
export type { Handle } from "./base/handle.ts";
export type { Logger } from "./base/logger.ts";
