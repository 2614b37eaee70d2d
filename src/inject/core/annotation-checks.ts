import { errorMessage } from "../../base/coded-error.ts";
import { parseGoBool } from "../../base/parse-go-scalar.ts";
import { parseGoYaml } from "../../files/yaml/parse-go-yaml.ts";
import { describeDecodeProblems } from "../../istio-api/config-problem.ts";
import { applyProxyConfig } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import { defaultProxyConfig } from "../../istio-api/proxy-config/default-proxy-config.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import { proxyConfigProblems } from "../../istio-api/proxy-config/validate-proxy-config.ts";
import { formatErrorList } from "../../istio-api/values/error-list.ts";
import { parsePrefix } from "../../net/ip-prefix.ts";
import { InjectError } from "../inject-error.ts";
import type { InjectionRules } from "./rules.ts";
import { canonicalQuantity } from "./schema/quantity.ts";

/** Says what is wrong with a value; undefined for a good one. */
type Check = (value: string, rules: ProxyConfigRules) => string | undefined;

export const PROXY_CONFIG_ANNOTATION = "proxy.istio.io/config";
const MAX_INTERFACE_NAME = 15;
/** The most hostile text of this size takes a tenth of a second, and the webhook serves in one thread; a real one has a twentieth of it. */
const MAX_PROXY_CONFIG_CHARACTERS = 32 * 1024;
const MAX_SHOWN_CHARACTERS = 1024;

const CHECKS: Readonly<Record<string, Check>> = {
  "sidecar.istio.io/interceptionMode": (value) =>
    ["REDIRECT", "TPROXY", "NONE"].includes(value)
      ? undefined
      : `interceptionMode invalid, use REDIRECT,TPROXY,NONE: ${value}`,
  // The parameter's name is the reference's own slip.
  "status.sidecar.istio.io/port": (value) => named("excludeInboundPorts", portProblem(value)),
  "readiness.status.sidecar.istio.io/initialDelaySeconds": uint32Problem,
  "readiness.status.sidecar.istio.io/periodSeconds": uint32Problem,
  "readiness.status.sidecar.istio.io/failureThreshold": uint32Problem,
  "traffic.sidecar.istio.io/includeOutboundIPRanges": (value) =>
    value === "*" ? undefined : named("includeIPRanges", rangesProblem(value, "* or a list of CIDR ranges")),
  "traffic.sidecar.istio.io/excludeOutboundIPRanges": (value) =>
    named("excludeIPRanges", rangesProblem(value, "a list of CIDR ranges")),
  "traffic.sidecar.istio.io/includeInboundPorts": (value) =>
    value === "*" ? undefined : named("includeInboundPorts", portsProblem(value)),
  "traffic.sidecar.istio.io/excludeInboundPorts": (value) => named("excludeInboundPorts", portsProblem(value)),
  "traffic.sidecar.istio.io/excludeOutboundPorts": (value) => named("excludeOutboundPorts", portsProblem(value)),
  "traffic.sidecar.istio.io/includeOutboundPorts": (value) =>
    value === "*" ? undefined : named("includeOutboundPorts", portsProblem(value)),
  "prometheus.istio.io/merge-metrics": (value) =>
    parseGoBool(value) === undefined ? "allowed are true and false (also 1, t, 0, f)" : undefined,
  [PROXY_CONFIG_ANNOTATION]: proxyConfigProblem,
};

const NEWER_CHECKS: Readonly<Record<string, Check>> = {
  ...CHECKS,
  "traffic.sidecar.istio.io/excludeInterfaces": interfacesProblem,
  "traffic.sidecar.istio.io/kubevirtInterfaces": interfacesProblem,
  "istio.io/reroute-virtual-interfaces": interfacesProblem,
  "sidecar.istio.io/proxyCPU": quantityProblem,
  "sidecar.istio.io/proxyMemory": quantityProblem,
  "sidecar.istio.io/proxyCPULimit": quantityProblem,
  "sidecar.istio.io/proxyMemoryLimit": quantityProblem,
};

/** Rejects when an annotation has a value that cannot work; all of them are reported together. */
export function checkAnnotations(
  annotations: Readonly<Record<string, string>>,
  rules: InjectionRules,
  proxyConfigRules: ProxyConfigRules,
): void {
  const checks = rules.checksResourceAnnotations ? NEWER_CHECKS : CHECKS;
  const problems = Object.keys(annotations)
    .sort()
    .flatMap((name) => {
      const value = annotations[name] ?? "";
      const problem = Object.hasOwn(checks, name) ? checks[name]?.(value, proxyConfigRules) : undefined;
      return problem === undefined ? [] : [`invalid value '${shown(value)}' for annotation '${name}': ${problem}`];
    });
  if (problems.length > 0) throw new InjectError("invalid-annotation", formatErrorList(problems));
}

function shown(value: string): string {
  return value.length > MAX_SHOWN_CHARACTERS ? `${value.slice(0, MAX_SHOWN_CHARACTERS)}...` : value;
}

function named(parameter: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${parameter} invalid: ${problem}`;
}

function portProblem(text: string): string | undefined {
  const isPort = /^\d+$/.test(text.trim()) && Number(text.trim()) <= 65535;
  return isPort ? undefined : `failed parsing port '${text}': allowed are 0 to 65535`;
}

function portsProblem(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  return text
    .trim()
    .split(",")
    .map(portProblem)
    .find((problem) => problem !== undefined);
}

function rangesProblem(text: string, allowed: string): string | undefined {
  if (text === "") return undefined;
  const wrong = text.split(",").find((range) => parsePrefix(range) === undefined);
  return wrong === undefined ? undefined : `failed parsing cidr '${wrong}': allowed is ${allowed}, such as 10.0.0.0/8`;
}

function uint32Problem(text: string): string | undefined {
  const isInRange = /^\d+$/.test(text) && Number(text) < 2 ** 32;
  return isInRange ? undefined : "allowed is an integer from 0 to 4294967295";
}

function interfacesProblem(text: string): string | undefined {
  if (text === "") return undefined;
  for (const name of text.split(",").map((part) => part.trim())) {
    if (name === "") return "empty interface name";
    if (name.length > MAX_INTERFACE_NAME) return `interface name "${name}" too long (max ${MAX_INTERFACE_NAME} chars)`;
    if (!/^[a-zA-Z][a-zA-Z0-9_.-]*$/.test(name)) return `interface name "${name}" contains invalid characters`;
  }
  return undefined;
}

function quantityProblem(text: string): string | undefined {
  if (/\p{Cc}/u.test(text)) return "value contains control characters";
  return canonicalQuantity(text) === undefined ? "allowed is a quantity such as 100m or 128Mi" : undefined;
}

function proxyConfigProblem(text: string, rules: ProxyConfigRules): string | undefined {
  if (text.length > MAX_PROXY_CONFIG_CHARACTERS)
    return `it has ${text.length} characters, allowed are ${MAX_PROXY_CONFIG_CHARACTERS}`;
  let document: unknown;
  try {
    document = parseGoYaml(text);
  } catch (failure) {
    return `failed to convert to apply proxy config: ${errorMessage(failure)}`;
  }
  const { config, problems } = applyProxyConfig(defaultProxyConfig(rules), document, rules);
  if (problems.length > 0) return `failed to convert to apply proxy config: ${describeDecodeProblems(problems)}`;
  const broken = proxyConfigProblems(config, rules).map(({ message }) => message);
  return broken.length === 0 ? undefined : formatErrorList(broken);
}
