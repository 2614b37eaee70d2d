import { TYPE_PREFIX } from "../../protobuf/type-url.ts";
import { message, nested, string } from "../../protobuf/wire/message.ts";
import type { FilterKind } from "./wasm-filter.ts";

export interface FallbackFilter {
  readonly typeUrl: string;
  readonly value: Buffer;
}

const FILTERS = `${TYPE_PREFIX}envoy.extensions.filters`;
/** envoy.config.rbac.v3.RBAC: without policies it lets nothing pass; a filter without it lets everything pass. */
const rules = message({});
const httpRbac = message({ rules: nested(1, rules), rulesStatPrefix: string(6) });
const networkRbac = message({ rules: nested(1, rules), statPrefix: string(3) });

/** Stands in for a filter whose module cannot be had: lets everything pass when it may fail open, else nothing. */
export function fallbackFilter(filter: FilterKind, failOpen: boolean, named: boolean): FallbackFilter {
  const prefix = failOpen ? "wasm-default-allow" : "wasm-default-deny";
  const denial = failOpen ? {} : { rules: {} };
  if (filter === "http") {
    const value = httpRbac.encode({ ...denial, ...(named && { rulesStatPrefix: prefix }) });
    return { typeUrl: `${FILTERS}.http.rbac.v3.RBAC`, value };
  }
  // Envoy refuses the network filter without a prefix, so it always has one.
  const value = networkRbac.encode({ ...denial, statPrefix: prefix });
  return { typeUrl: `${FILTERS}.network.rbac.v3.RBAC`, value };
}
