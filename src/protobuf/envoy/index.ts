export { EnvoyCodecError } from "./codec-error.ts";
export { decodeMessage } from "./decode-message.ts";
export { encodeAny, encodeMessage } from "./encode-message.ts";
export { enumTable } from "./field-table.ts";
export type { AnyMessage } from "./json-types.ts";
export { mergeAny, mergeMessages, replaceLists } from "./merge-messages.ts";
export { type MessageName, pack } from "./pack.ts";
export { parseMessage } from "./parse-message.ts";
