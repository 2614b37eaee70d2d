import type { OwnerNames } from "../../../src/capture/core/rule-key.ts";

/** A machine whose users and groups have no names. */
export const NO_NAMES: OwnerNames = { users: new Map(), groups: new Map() };
