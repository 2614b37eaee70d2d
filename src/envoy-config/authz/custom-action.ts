import { type ConfigObject, compareText } from "../../istio-api/config-object.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { findProviderServer } from "../shared/cluster-name.ts";
import {
  type AskedProvider,
  askedPrefix,
  findAccessProvider,
  httpExtAuthz,
  networkExtAuthz,
  SHADOW_PREFIX,
} from "./ext-authz.ts";
import type { FailedPolicies } from "./failed-policies.ts";
import {
  type AccessView,
  buildRules,
  httpRbac,
  isDryRun,
  networkRbac,
  type RbacOptions,
  type RbacSettings,
} from "./rbac.ts";

type AuthorizationPolicy = ConfigObject<"AuthorizationPolicy">;

interface CustomFilters {
  readonly http: readonly HttpFilter[];
  readonly network: readonly Filter[];
  readonly problems: readonly string[];
}

/**
 * What providers outside decide: one filter finds out whether a policy matches, and leaves a note by which the next one asks the
 * provider. What no provider can be asked about is denied.
 */
export function buildCustomFilters(
  view: AccessView,
  all: readonly AuthorizationPolicy[],
  failed: FailedPolicies,
): CustomFilters {
  const policies = all.filter(({ spec }) => spec.action === "CUSTOM");
  const names = [...new Set(policies.map(providerOf))].sort(compareText);
  const parts = names.map((name) => {
    const own = policies.filter((policy) => providerOf(policy) === name);
    const asked = findAsked(view, name);
    // Each provider has a pair of filters; the name of one may be the beginning of another's.
    const noted = names.length > 1 ? `${askedPrefix(name)}-ns[` : askedPrefix(name);
    const context = { view, name, failed };
    return typeof asked === "string" ? denials(context, own, asked) : questions(context, own, { ...asked, noted });
  });
  return {
    http: parts.flatMap(({ http }) => http),
    network: parts.flatMap(({ network }) => network),
    problems: parts.flatMap(({ problems }) => problems),
  };
}

function findAsked({ snapshot, outbound }: AccessView, name: string): Omit<AskedProvider, "noted"> | string {
  const provider = findAccessProvider(snapshot.mesh, name);
  if (typeof provider === "string") return provider;
  const { service = "", port = 0 } = provider.settings;
  const server = findProviderServer(outbound, service, port);
  return typeof server === "string" ? server : { provider, server };
}

interface ProviderContext {
  readonly view: AccessView;
  readonly name: string;
  readonly failed: FailedPolicies;
}

function questions(
  context: ProviderContext,
  policies: readonly AuthorizationPolicy[],
  asked: AskedProvider,
): CustomFilters {
  const trials = policies.filter(isDryRun);
  const asking = policies.filter((policy) => !isDryRun(policy));
  const rbac = (layer: RbacOptions["layer"]): RbacSettings => {
    const options = rbacOptions(context, layer);
    return {
      // Providers are not asked in dry run.
      ...(trials.length > 0 && { rules: buildRules(trials, "CUSTOM", options) }),
      shadowRules: buildRules(asking, "CUSTOM", options),
      shadowRulesStatPrefix: SHADOW_PREFIX,
    };
  };
  const network = networkExtAuthz(asked);
  return {
    http: [
      httpRbac(rbac("http")),
      {
        name: "envoy.filters.http.ext_authz",
        typedConfig: pack("envoy.extensions.filters.http.ext_authz.v3.ExtAuthz", httpExtAuthz(asked)),
      },
    ],
    network:
      network === undefined
        ? []
        : [
            networkRbac(rbac("tcp")),
            {
              name: "envoy.filters.network.ext_authz",
              typedConfig: pack("envoy.extensions.filters.network.ext_authz.v3.ExtAuthz", network),
            },
          ],
    problems: trials.map((policy) => problem(policy, "providers are not asked on trial")),
  };
}

function denials(context: ProviderContext, policies: readonly AuthorizationPolicy[], reason: string): CustomFilters {
  const rbac = (layer: RbacOptions["layer"]): RbacSettings => ({
    rules: buildRules(policies, "CUSTOM", rbacOptions(context, layer, "-deny-due-to-bad-CUSTOM-action")),
  });
  return {
    http: [httpRbac(rbac("http"))],
    network: [networkRbac(rbac("tcp"))],
    problems: policies.map((policy) => problem(policy, reason)),
  };
}

function rbacOptions(
  { view, name: provider, failed }: ProviderContext,
  layer: RbacOptions["layer"],
  suffix = "",
): RbacOptions {
  return {
    mesh: view.snapshot.mesh,
    layer,
    failed,
    keyOf: ({ namespace, name }, rule) =>
      `${askedPrefix(provider)}-ns[${namespace}]-policy[${name}]-rule[${rule}]${suffix}`,
  };
}

function providerOf({ spec }: AuthorizationPolicy): string {
  return spec.provider?.name ?? "";
}

function problem(policy: AuthorizationPolicy, reason: string): string {
  const { namespace, name } = policy;
  return (
    `AuthorizationPolicy ${namespace}/${name} asks provider ${JSON.stringify(providerOf(policy))}, ` +
    `which cannot be asked (${reason}): what it matches is denied`
  );
}
