import { asJsonObject } from "../../base/json-object.ts";
import type { Action } from "../api.ts";
import { ActionError } from "./action-error.ts";
import {
  type ActionContext,
  labelsOf,
  membersOf,
  type On,
  type PlannedAction,
  targetOf,
  unknown,
} from "./action-target.ts";
import { durationText, inRange } from "./action-values.ts";
import { canary, RAMP, rampStep, shift } from "./plan-versions.ts";
import { destinationRuleFor, peerAuthenticationFor, routesOf, specOf, virtualServiceFor } from "./rule-documents.ts";

/** What an action writes, given what is in force; throws an ActionError that says what is wrong with it. */
export function planAction(action: Action, context: ActionContext): PlannedAction {
  switch (action.kind) {
    case "shift":
      return shift(action, context);
    case "ramp":
      return rampStep(action, context, action.steps?.[0] ?? RAMP.steps[0]);
    case "canary":
      return canary(action, context);
    case "delay":
    case "abort":
      return fault(action, context);
    case "timeout":
    case "retries":
      return onEveryRoute(action, context);
    case "circuit-breaker":
      return circuitBreaker(action, context);
    case "strict-mtls":
      return strictMtls(action, context);
    case "deny":
      return deny(action, context);
    case "kill-envoy":
      if (!context.workloads.some(({ id }) => id === action.workload))
        throw unknown(
          "workload",
          action.workload,
          context.workloads.map(({ id }) => id),
        );
      return { text: `Kills the Envoy of ${action.workload}; its agent starts it again`, documents: [] };
    case "stop-control-plane":
      return { text: "Stops the control plane; sidecars go on with what they have", documents: [] };
    case "start-control-plane":
      return { text: "Starts the control plane", documents: [] };
    default:
      throw unknown("kind", String((action as { readonly kind?: unknown }).kind), ACTION_KINDS);
  }
}

export const ACTION_KINDS = [
  "shift",
  "ramp",
  "canary",
  "delay",
  "abort",
  "timeout",
  "retries",
  "circuit-breaker",
  "strict-mtls",
  "deny",
  "kill-envoy",
  "stop-control-plane",
  "start-control-plane",
] as const satisfies readonly Action["kind"][];

function fault(action: On<"delay"> | On<"abort">, context: ActionContext): PlannedAction {
  const target = targetOf(action, context);
  inRange("percent", action.percent, 0.01, 100);
  const percentage = { value: action.percent };
  const isDelay = action.kind === "delay";
  if (isDelay) inRange("delayMs", action.delayMs, 1, 3_600_000);
  else inRange("status", action.status, 200, 599);
  const added = isDelay
    ? { delay: { fixedDelay: durationText(action.delayMs), percentage } }
    : { abort: { httpStatus: action.status, percentage } };
  const service = virtualServiceFor(context, target);
  for (const each of routesOf(service, target.host)) each.fault = { ...asJsonObject(each.fault), ...added };
  const what = isDelay
    ? `Delays ${action.percent}% of the requests for ${target.service} by ${durationText(action.delayMs)}`
    : `Answers ${action.percent}% of the requests for ${target.service} with ${action.status}`;
  return { text: what, documents: [service] };
}

function onEveryRoute(action: On<"timeout"> | On<"retries">, context: ActionContext): PlannedAction {
  const target = targetOf(action, context);
  const service = virtualServiceFor(context, target);
  const routes = routesOf(service, target.host);
  if (action.kind === "timeout") {
    inRange("timeoutMs", action.timeoutMs, 1, 3_600_000);
    for (const each of routes) each.timeout = durationText(action.timeoutMs);
    return { text: `Gives requests for ${target.service} ${durationText(action.timeoutMs)}`, documents: [service] };
  }
  const { attempts, perTryTimeoutMs, on } = action;
  inRange("attempts", attempts, 0, 100);
  if (perTryTimeoutMs !== undefined) inRange("perTryTimeoutMs", perTryTimeoutMs, 1, 3_600_000);
  for (const each of routes)
    each.retries = {
      attempts,
      ...(perTryTimeoutMs === undefined ? {} : { perTryTimeout: durationText(perTryTimeoutMs) }),
      ...(on === undefined || on === "" || attempts === 0 ? {} : { retryOn: on }),
    };
  return { text: `Sends failed requests for ${target.service} again, ${attempts} times at most`, documents: [service] };
}

function circuitBreaker(action: On<"circuit-breaker">, context: ActionContext): PlannedAction {
  const target = targetOf(action, context);
  const { maxConnections, maxPendingRequests, maxRequests, consecutiveErrors, ejectionMs } = action;
  const limits = { maxConnections, maxPendingRequests, maxRequests, consecutiveErrors };
  for (const [name, value] of Object.entries(limits)) if (value !== undefined) inRange(name, value, 1, 1_000_000);
  if (ejectionMs !== undefined) inRange("ejectionMs", ejectionMs, 1000, 3_600_000);
  if (Object.values(limits).every((value) => value === undefined))
    throw new ActionError(`nothing is limited; give one of ${Object.keys(limits).join(", ")}`);
  const rule = destinationRuleFor(context, target);
  const spec = specOf(rule);
  const policy = asJsonObject(spec.trafficPolicy);
  const pool = asJsonObject(policy.connectionPool);
  const http = {
    ...asJsonObject(pool.http),
    ...defined({ http1MaxPendingRequests: maxPendingRequests, http2MaxRequests: maxRequests }),
  };
  const tcp = { ...asJsonObject(pool.tcp), ...defined({ maxConnections }) };
  const detection =
    consecutiveErrors === undefined
      ? {}
      : {
          outlierDetection: {
            ...asJsonObject(policy.outlierDetection),
            consecutive5xxErrors: consecutiveErrors,
            interval: "1s",
            baseEjectionTime: durationText(ejectionMs ?? 30_000),
            maxEjectionPercent: 100,
          },
        };
  const connectionPool = { ...pool, ...full({ tcp, http }) };
  spec.trafficPolicy = { ...policy, ...full({ connectionPool }), ...detection };
  return { text: `Limits what callers send to ${target.service}`, documents: [rule] };
}

function strictMtls({ service, namespace = undefined }: On<"strict-mtls">, context: ActionContext): PlannedAction {
  const own = namespace ?? context.namespace;
  const target =
    service === undefined || service === ""
      ? undefined
      : targetOf({ service, ...(namespace === undefined ? {} : { namespace }) }, context);
  const labels = target && labelsOf(target, context);
  const where = { namespace: target?.namespace ?? own, name: target?.service ?? "default", labels };
  const policy = peerAuthenticationFor(context, where);
  const spec = specOf(policy);
  spec.mtls = { mode: "STRICT" };
  delete spec.portLevelMtls;
  return { text: `Refuses plain text at ${target?.service ?? `all workloads of ${own}`}`, documents: [policy] };
}

function deny(action: On<"deny">, context: ActionContext): PlannedAction {
  const target = targetOf(action, context);
  const callers = action.caller.startsWith("spiffe://")
    ? [action.caller]
    : [
        ...new Set(
          membersOf(targetOf({ service: action.caller, namespace: target.namespace }, context), context).flatMap(
            ({ identity }) => identity ?? [],
          ),
        ),
      ];
  if (callers.length === 0) throw new ActionError(`the workloads of ${action.caller} have no identity`);
  const short = action.caller.startsWith("spiffe://")
    ? (action.caller.split("/").at(-1) ?? "caller")
    : action.caller.split(".")[0];
  const policy = {
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { name: `deny-${short}-to-${target.service}`, namespace: target.namespace },
    spec: {
      selector: { matchLabels: labelsOf(target, context) },
      action: "DENY",
      rules: [{ from: [{ source: { principals: callers.map((each) => each.replace("spiffe://", "")) } }] }],
    },
  };
  return { text: `Refuses calls of ${short} to ${target.service}`, documents: [policy] };
}

function defined(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** Without members that say nothing. */
function full(values: Readonly<Record<string, object>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => Object.keys(value).length > 0));
}
