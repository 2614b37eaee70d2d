export { EnvoyCodecError } from "./codec-error.ts";
export { decodeMessage } from "./decode-message.ts";
export { encodeAny, encodeMessage } from "./encode-message.ts";
export type { AnyMessage } from "./json-types.ts";
export { type MessageName, pack, TYPE_PREFIX } from "./pack.ts";
