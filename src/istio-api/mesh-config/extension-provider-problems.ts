import { quoteGo } from "../../base/go-quote.ts";
import { goIntProblem, parseGoInt } from "../../base/parse-go-scalar.ts";
import { isIP } from "../../net/ip.ts";
import { portProblem } from "../values/address.ts";
import { fqdnProblem, isDnsLabel, wildcardDomainProblem } from "../values/dns-name.ts";
import type { ExtensionProvider, MeshConfig } from "./mesh-config.ts";

/** Members of all kinds of providers that have rules. */
interface Settings {
  readonly service?: string;
  readonly port?: number;
  readonly statusOnError?: string;
  readonly pathPrefix?: string;
  readonly accessToken?: string;
  readonly grpc?: unknown;
  readonly http?: unknown;
}

type Check = (settings: Settings) => readonly (string | undefined)[];

const nothing: Check = () => [];
const portThenService: Check = (settings) => [portProblem(settings.port ?? 0), serviceProblem(settings.service ?? "")];
const serviceThenPort: Check = (settings) => [serviceProblem(settings.service ?? ""), servicePort(settings)];

/** What each kind of provider must have. */
const CHECKS: Readonly<Record<string, Check>> = {
  envoyExtAuthzHttp: (settings) => [
    ...portThenService(settings),
    statusProblem(settings.statusOnError),
    pathProblem(settings.pathPrefix),
  ],
  envoyExtAuthzGrpc: (settings) => [
    servicePort(settings),
    serviceProblem(settings.service ?? ""),
    statusProblem(settings.statusOnError),
  ],
  zipkin: serviceThenPort,
  lightstep: (settings) => [
    ...serviceThenPort(settings),
    (settings.accessToken ?? "") === "" ? "access token is required" : undefined,
  ],
  datadog: serviceThenPort,
  opencensus: serviceThenPort,
  skywalking: serviceThenPort,
  stackdriver: nothing,
  prometheus: nothing,
  sds: nothing,
  envoyFileAccessLog: nothing,
  envoyOtelAls: portThenService,
  envoyHttpAls: portThenService,
  envoyTcpAls: portThenService,
  opentelemetry: (settings) => [
    ...portThenService(settings),
    settings.grpc !== undefined && settings.http !== undefined
      ? "OpenTelemetryTracingProvider cannot specify both grpc and http"
      : undefined,
  ],
};

/** Broken providers; they only matter when something refers to them, so they are warnings. */
export function extensionProviderProblems({ extensionProviders = [] }: MeshConfig): readonly string[] {
  const seen = new Set<string>();
  return extensionProviders.flatMap((provider) => {
    const name = provider.name ?? "";
    // A second provider of one name could never be referred to.
    const reasons = [
      name === "" ? "empty extension provider name" : undefined,
      seen.has(name) ? `duplicate extension provider name ${name}` : undefined,
    ];
    seen.add(name);
    return [...reasons, ...kindReasons(provider)].flatMap((reason) =>
      reason === undefined ? [] : [`invalid extension provider ${name}: ${reason}`],
    );
  });
}

function kindReasons(provider: ExtensionProvider): readonly (string | undefined)[] {
  const [kind = "", settings = {}] = Object.entries(provider).find(([member]) => Object.hasOwn(CHECKS, member)) ?? [];
  return CHECKS[kind]?.(settings as Settings) ?? ["unsupported provider: <nil> of type <nil>"];
}

function servicePort({ port = 0 }: Settings): string | undefined {
  const reason = portProblem(port);
  return reason === undefined ? undefined : `invalid service port: ${reason}`;
}

/** A host name or address, or `namespace/host`. */
function serviceProblem(service: string): string | undefined {
  if (service === "") return "service must not be empty";
  const slash = service.indexOf("/");
  if (slash === -1) {
    return fqdnProblem(service) === undefined || isIP(service) !== 0
      ? undefined
      : `invalid service fmt ${service}: ${service} is not a valid IP`;
  }
  const [namespace, host] = [service.slice(0, slash), service.slice(slash + 1)];
  if (namespace === "" || host === "") return "config namespace and dnsName in host entry cannot be empty";
  if (!["*", ".", "~"].includes(namespace) && !isDnsLabel(namespace))
    return `invalid namespace value ${quoteGo(namespace)} in sidecar`;
  if (host !== "*" && !host.includes(".")) return "short names (non FQDN) are not allowed";
  return wildcardDomainProblem(host);
}

/** Any status an HTTP server can give; Envoy refuses the few it does not know. */
function statusProblem(status = ""): string | undefined {
  if (status === "") return undefined;
  const code = parseGoInt(status);
  if (code === undefined) return `invalid statusOnError value ${status}: ${goIntProblem(status, "ParseInt")}`;
  return code >= 100 && code <= 599
    ? undefined
    : `unsupported statusOnError value ${status}, supported values: 100..599`;
}

function pathProblem(prefix = ""): string | undefined {
  return prefix === "" || prefix.startsWith("/")
    ? undefined
    : `pathPrefix should begin with \`/\` but found ${quoteGo(prefix)}`;
}
