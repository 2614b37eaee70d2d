import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { TYPE_PREFIX } from "../protobuf/type-url.ts";
import { memberBytes, memberList, withMember, withMembers } from "../protobuf/wire/edit-members.ts";
import { message, nested, string } from "../protobuf/wire/message.ts";
import { WireError } from "../protobuf/wire/wire-reader.ts";
import type { FallbackRules } from "./core/generations.ts";
import { joinErrors } from "./core/join-errors.ts";
import { printableUrl } from "./core/printable-url.ts";
import { type RemoteModule, readRemoteModule, withLocalCode } from "./core/remote-module.ts";
import {
  FILTER_TYPES,
  type FilterKind,
  type RemoteFilter,
  readRemoteFilter,
  withTypedConfig,
} from "./core/wasm-filter.ts";
import type { ConversionResult, WasmMetrics } from "./metrics.ts";
import { WasmError } from "./wasm-error.ts";

const FILTERS = `${TYPE_PREFIX}envoy.extensions.filters`;
/** envoy.config.rbac.v3.RBAC: without policies it lets nothing pass; a filter without it lets everything pass. */
const rules = message({});
const httpRbac = message({ rules: nested(1, rules), rulesStatPrefix: string(6) });
const networkRbac = message({ rules: nested(1, rules), statPrefix: string(3) });

export interface ConvertResponseOptions {
  readonly kind: "sotw" | "delta";
  readonly message: Buffer;
  readonly rules: FallbackRules;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
  /** Gives the absolute path of the module's file. */
  load(module: RemoteModule): Promise<string>;
}

export type ConvertedResponse = { readonly message: Buffer } | { readonly refusal: string };

/** Both kinds of response keep their resources there; a delta's is wrapped once more. */
const RESOURCES = 2;
const RESOURCE_ANY = 2;

/** Fetches what the filters of one response need, all at once, and puts the files' paths in. Unknown fields survive. */
export async function convertResponse(options: ConvertResponseOptions): Promise<ConvertedResponse> {
  const { kind, message } = options;
  const resources = memberList(message, RESOURCES);
  if (resources.length === 0) return { message };
  const outcomes = await Promise.all(
    resources.map(async (resource) => {
      if (kind === "sotw") return convertResource(resource, options);
      const wrapped = memberBytes(resource, RESOURCE_ANY);
      // A resource without content only renews its time to live.
      if (wrapped === undefined) return { resource };
      const outcome = await convertResource(wrapped, options);
      return "error" in outcome ? outcome : { resource: withMember(resource, RESOURCE_ANY, outcome.resource) };
    }),
  );
  const errors = outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : []));
  if (errors.length > 0) {
    const refusal = joinErrors(errors);
    options.log.error(`error in applying failopen rbac config: ${refusal}`);
    return { refusal };
  }
  const converted = outcomes.flatMap((outcome) => ("resource" in outcome ? [outcome.resource] : []));
  return { message: withMembers(message, RESOURCES, converted) };
}

type Outcome = { readonly resource: Buffer } | { readonly error: string };

async function convertResource(resource: Buffer, options: ConvertResponseOptions): Promise<Outcome> {
  const count = (result: ConversionResult) => options.metrics.conversions.inc([result]);
  let filter: RemoteFilter | undefined;
  try {
    filter = readRemoteFilter(resource);
  } catch (cause) {
    count("unmarshal_failure");
    return { error: errorMessage(cause) };
  }
  if (filter === undefined) {
    count("no_remote_load");
    return { resource };
  }
  try {
    const module = readRemoteModule(filter);
    const path = await options.load(module).catch((cause: unknown) => {
      throw new WasmError(
        cause instanceof WasmError ? cause.code : "unreachable",
        `cannot fetch Wasm module ${printableUrl(module.url)}: ${errorMessage(cause)}`,
        { cause },
      );
    });
    const converted = withTypedConfig(resource, FILTER_TYPES[filter.filter], withLocalCode(filter, path));
    count("success");
    return { resource: converted };
  } catch (cause) {
    if (cause instanceof WireError) {
      count("unmarshal_failure");
      return { error: `failed to unmarshal ${filter.name}: ${cause.message}` };
    }
    count(cause instanceof WasmError && cause.code === "missing-hint" ? "miss_remote_fetch_hint" : "fetch_failure");
    return standIn(resource, filter, errorMessage(cause), options);
  }
}

function standIn(resource: Buffer, filter: RemoteFilter, why: string, options: ConvertResponseOptions): Outcome {
  const { rules, log } = options;
  if (!filter.failOpen && rules.failClosed === "refuse") return { error: why };
  const effect = filter.failOpen ? "allow" : "deny";
  log.error(`error in converting the wasm config to local: ${why}. applying ${effect} RBAC filter`, {
    resource: filter.name,
  });
  const { typeUrl, value } = fallbackFilter(filter.filter, filter.failOpen, rules.named);
  return { resource: withTypedConfig(resource, typeUrl, value) };
}

interface FallbackFilter {
  readonly typeUrl: string;
  readonly value: Buffer;
}

/** Stands in for a filter whose module cannot be had: lets everything pass when it may fail open, else nothing. */
function fallbackFilter(filter: FilterKind, failOpen: boolean, named: boolean): FallbackFilter {
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
