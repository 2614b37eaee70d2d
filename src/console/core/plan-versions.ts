import { asJsonObject } from "../../base/json-object.ts";
import { ActionError } from "./action-error.ts";
import {
  type ActionContext,
  checkVersions,
  type On,
  type PlannedAction,
  targetOf,
  versionsOf,
} from "./action-target.ts";
import { inRange } from "./action-values.ts";
import { fullHost, list, rulesByHost } from "./route-rules.ts";
import {
  type Document,
  defaultRoute,
  destinationRuleFor,
  routesOf,
  type ServiceTarget,
  specOf,
  subsetsFor,
  virtualServiceFor,
} from "./rule-documents.ts";

export const RAMP = { steps: [10, 25, 50, 100], stepMs: 30_000, maxErrorShare: 0.05, minRequests: 10 } as const;

export function shift({ weights, ...action }: On<"shift">, context: ActionContext): PlannedAction {
  const target = targetOf(action, context);
  const given = Object.entries(asJsonObject(weights)).map(([version, share]) => [version, Number(share)] as const);
  checkVersions(
    given.map(([version]) => version),
    target,
    context,
  );
  for (const [version, share] of given) inRange(`the share of ${version}`, share, 0, 100);
  const sum = given.reduce((total, [, share]) => total + share, 0);
  if (Math.abs(sum - 100) > 0.001) throw new ActionError(`the shares are ${sum} together, they have to be 100`);
  const text = given.map(([version, share]) => `${share}% to ${version}`).join(", ");
  return { text: `Sends requests for ${target.service}: ${text}`, documents: route(target, context, new Map(given)) };
}

/** One step: the version gets its share, the others divide the rest as they did. */
export function rampStep(action: On<"ramp">, context: ActionContext, share: number): PlannedAction {
  const target = targetOf(action, context);
  checkVersions([action.to], target, context);
  checkRamp(action);
  const rules = rulesByHost(context.objects).get(target.host);
  const versionOf = (subset: string) => rules?.versions.get(subset) ?? subset;
  const before = [...(rules?.weights ?? [])].filter(
    ([subset, weight]) => subset !== "" && weight > 0 && versionOf(subset) !== action.to,
  );
  const others =
    before.length > 0
      ? before.map(([subset, weight]) => [versionOf(subset), weight] as const)
      : evenly(versionsOf(target, context).filter((each) => each !== action.to));
  if (others.length === 0 && share < 100)
    throw new ActionError(`${target.service} has no version besides ${action.to} to ramp from`);
  const sum = others.reduce((total, [, weight]) => total + weight, 0);
  const rest = wholeShares(
    others.map(([version, weight]) => [version, ((100 - share) * weight) / sum] as const),
    100 - share,
  );
  const weights = new Map([...rest, [action.to, share] as const].filter(([, weight]) => weight > 0));
  const steps = action.steps ?? RAMP.steps;
  return {
    text: `Ramps ${target.service} to ${action.to} by ${steps.join(", ")}%`,
    documents: route(target, context, weights),
  };
}

function checkRamp({
  steps = RAMP.steps,
  stepMs = RAMP.stepMs,
  maxErrorShare = RAMP.maxErrorShare,
  minRequests = RAMP.minRequests,
}: On<"ramp">): void {
  if (!Array.isArray(steps) || steps.length === 0)
    throw new ActionError("steps is empty, expected shares in percent like [10, 50, 100]");
  for (const [at, step] of steps.entries()) {
    inRange("a step", step, 1, 100);
    if (at > 0 && step <= (steps[at - 1] ?? 0))
      throw new ActionError(`steps are ${steps.join(", ")}; each has to be larger than the one before`);
  }
  inRange("stepMs", stepMs, 1000, 24 * 3600_000);
  inRange("maxErrorShare", maxErrorShare, 0, 1);
  inRange("minRequests", minRequests, 1, 1_000_000);
}

function evenly(versions: readonly string[]): readonly (readonly [string, number])[] {
  return versions.map((version) => [version, 1] as const);
}

/** Rules have whole percents; what rounding leaves goes to the first. */
function wholeShares(
  shares: readonly (readonly [string, number])[],
  sum: number,
): readonly (readonly [string, number])[] {
  const whole = shares.map(([version, share]) => [version, Math.floor(share)] as const);
  const left = sum - whole.reduce((total, [, share]) => total + share, 0);
  return whole.map(([version, share], at) => [version, at === 0 ? share + left : share] as const);
}

/** Both objects: the rule that names the versions, and the route that divides. */
function route(
  target: ServiceTarget,
  context: ActionContext,
  weights: ReadonlyMap<string, number>,
): readonly Document[] {
  const rule = destinationRuleFor(context, target);
  const subsets = subsetsFor(rule, [...weights.keys()]);
  const service = virtualServiceFor(context, target);
  const chosen = [...weights].filter(([, weight]) => weight > 0);
  const divided = defaultRoute(routesOf(service, target.host));
  const before = destinationsOf(divided, service, target);
  divided.route = chosen.map(([version, weight]) => {
    const subset = subsets.get(version);
    const own = before.find(({ destination }) => asJsonObject(destination).subset === subset);
    const like = asJsonObject((own ?? before[0])?.destination);
    return { ...own, destination: { host: target.host, ...like, subset }, weight };
  });
  return [rule, service];
}

/** Those to the service, as they are written: how a host is spelled, its port and headers are not what is shifted. */
function destinationsOf({ route: entries }: Document, service: Document, target: ServiceTarget): readonly Document[] {
  const namespace = String(asJsonObject(service.metadata).namespace ?? target.namespace);
  return (list(entries) as readonly Document[]).filter(
    ({ destination }) => fullHost(String(asJsonObject(destination).host ?? ""), namespace) === target.host,
  );
}

export function canary(action: On<"canary">, context: ActionContext): PlannedAction {
  const target = targetOf(action, context);
  const { version, header, value } = action;
  checkVersions([version], target, context);
  if (!/^[a-z0-9][a-z0-9-]*$/.test(header))
    throw new ActionError(`header is ${JSON.stringify(header)}; expected a header name in lower case`);
  if (typeof value !== "string" || value === "") throw new ActionError("value is empty; expected the header's value");
  const rule = destinationRuleFor(context, target);
  const subset = subsetsFor(rule, [version]).get(version);
  const service = virtualServiceFor(context, target);
  const routes = routesOf(service, target.host);
  specOf(service).http = [
    { match: [{ headers: { [header]: { exact: value } } }], route: [{ destination: { host: target.host, subset } }] },
    ...routes,
  ];
  return {
    text: `Sends requests for ${target.service} with ${header}: ${value} to ${version}`,
    documents: [rule, service],
  };
}
