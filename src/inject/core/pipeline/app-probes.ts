import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../../../base/json-object.ts";
import { parseGoBool } from "../../../base/parse-go-scalar.ts";
import { annotationsOf, PROXY_CONTAINER } from "../context.ts";
import { asObject, asText, goJson, type Json, objects } from "../json.ts";
import type { InjectionRules } from "../rules.ts";
import { containersOf, findProxy, withProxy, withSpec } from "./containers.ts";
import { readStatus } from "./injection-status.ts";

const VARIABLE = "ISTIO_KUBE_APP_PROBERS";

export interface ProbeOptions {
  /** The port of the mesh; a probe that asks it was rewritten before. */
  readonly statusPort: number;
  readonly isEnabledByValues: boolean;
  readonly rules: InjectionRules;
}

/**
 * The kubelet cannot reach a captured application: its probes go to the agent, which asks the application. What to ask goes into the
 * proxy's environment.
 */
export function rewriteAppProbes(pod: Json, options: ProbeOptions): Json {
  const annotations = annotationsOf(pod);
  const isEnabled =
    parseGoBool(annotations["sidecar.istio.io/rewriteAppHTTPProbers"] ?? "") ?? options.isEnabledByValues;
  if (!isEnabled || findProxy(pod) === undefined) return pod;
  const annotated = annotations["status.sidecar.istio.io/port"];
  const port = annotated === undefined ? options.statusPort : Number(annotated);
  const probers: Record<string, Json> = {};
  const rewrite = (container: Json) =>
    container.name === PROXY_CONTAINER ? container : rewriteContainer(container, port, options, probers);
  const rewritten = withSpec(pod, {
    ...(containersOf(pod, "initContainers").length > 0 && {
      initContainers: containersOf(pod, "initContainers").map(rewrite),
    }),
    containers: containersOf(pod, "containers").map(rewrite),
  });
  if (Object.keys(probers).length === 0) return rewritten;
  return withProxy(rewritten, (proxy) => withProbers(proxy, probers, readStatus(pod) !== undefined));
}

/** Of a pod that was injected before, entries that are there win. */
function withProbers(proxy: Json, probers: Readonly<Record<string, Json>>, wasInjected: boolean): Json {
  const env = objects(proxy.env);
  const existing = wasInjected ? env.find(({ name }) => name === VARIABLE) : undefined;
  if (existing === undefined) return { ...proxy, env: [...env, { name: VARIABLE, value: sortedJson(probers) }] };
  const known = parseProbers(asText(existing.value));
  if (known === undefined) return proxy;
  const value = sortedJson({ ...probers, ...known });
  return { ...proxy, env: env.map((variable) => (variable === existing ? { name: VARIABLE, value } : variable)) };
}

function parseProbers(text: string): Json | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

export function sortedJson(value: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return goJson(Object.fromEntries(sorted));
}

const PROBES = [
  ["readinessProbe", "readyz"],
  ["livenessProbe", "livez"],
  ["startupProbe", "startupz"],
] as const;
const HOOKS = [
  ["preStop", "prestopz"],
  ["postStart", "poststartz"],
] as const;

function rewriteContainer(container: Json, port: number, options: ProbeOptions, probers: Record<string, Json>): Json {
  const changes: Json = {};
  const rewrite = (handler: unknown, path: string, isHook: boolean): Json | undefined => {
    if (!isJsonObject(handler)) return undefined;
    const action = actionOf(handler, isHook, options.rules);
    if (action === undefined) return undefined;
    if (!isRewritten(handler, port, options.statusPort)) {
      const resolved = resolvePort(action, container);
      // A probe of a port that does not exist is left unchanged: it cannot succeed in either form.
      if (resolved === undefined) return undefined;
      const timeout = isHook ? 0 : Number(handler.timeoutSeconds ?? 0);
      probers[path] = { ...resolved, ...(timeout !== 0 && { timeoutSeconds: timeout }) };
    }
    return toAgent(handler, path, port);
  };
  for (const [name, suffix] of PROBES) {
    const changed = rewrite(container[name], `/app-health/${asText(container.name)}/${suffix}`, false);
    if (changed !== undefined) changes[name] = changed;
  }
  const lifecycle = asObject(container.lifecycle);
  const hooks: Json = {};
  for (const [name, suffix] of options.rules.rewritesLifecycleHooks ? HOOKS : []) {
    const changed = rewrite(lifecycle[name], `/app-lifecycle/${asText(container.name)}/${suffix}`, true);
    if (changed !== undefined) hooks[name] = changed;
  }
  if (Object.keys(hooks).length > 0) changes.lifecycle = { ...lifecycle, ...hooks };
  return isDeepStrictEqual(changes, {}) ? container : { ...container, ...changes };
}

/** The one action the agent takes over, of those a handler may have. */
function actionOf(handler: Json, isHook: boolean, rules: InjectionRules): Json | undefined {
  if (isJsonObject(handler.httpGet)) return { httpGet: handler.httpGet };
  if (!rules.rewritesTcpAndGrpcProbes) return undefined;
  if (isJsonObject(handler.tcpSocket)) return { tcpSocket: handler.tcpSocket };
  return isJsonObject(handler.grpc) && !isHook ? { grpc: handler.grpc } : undefined;
}

function isRewritten(handler: Json, port: number, statusPort: number): boolean {
  const get = asObject(handler.httpGet);
  const socket = asObject(handler.tcpSocket);
  if (get.port === statusPort || socket.port === statusPort) return true;
  return get.port === port && /^\/app-(?:health|lifecycle)\//.test(asText(get.path));
}

/** Port names are looked up in the container that has them. */
function resolvePort(action: Json, container: Json): Json | undefined {
  const [kind = "", details] = Object.entries(action)[0] ?? [];
  const port = asObject(details).port;
  if (typeof port !== "string") return action;
  const named = objects(container.ports).find(({ name }) => name === port);
  return named === undefined ? undefined : { [kind]: { ...asObject(details), port: named.containerPort } };
}

/** The kubelet speaks plain HTTP to the agent, the agent what the application wants. */
function toAgent(handler: Json, path: string, port: number): Json {
  const { tcpSocket: _socket, grpc: _grpc, ...rest } = handler;
  const get = asObject(handler.httpGet);
  return { ...rest, httpGet: { ...get, path, port, ...(get.scheme === "HTTPS" && { scheme: "HTTP" }) } };
}
