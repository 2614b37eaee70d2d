import type { CommandLine } from "./mesh-file.ts";
import { type Call, isProxyless, type MeshPlan, type Workload } from "./mesh-plan.ts";

/** What an application finds in its environment beside what it would have without a mesh. */
export function appEnvironment(plan: MeshPlan, workload: Workload): Readonly<Record<string, string>> {
  const given: Record<string, string> = {
    MESH_NAME: plan.name,
    MESH_WORKLOAD: workload.name,
    MESH_SERVICE: workload.service,
    ...(workload.version === undefined ? {} : { MESH_VERSION: workload.version }),
    ...(workload.app === undefined ? {} : { HOST: workload.app.host, PORT: String(workload.app.port) }),
    ...(workload.app === undefined ? {} : portVariables(workload)),
  };
  // Those of ports first: a service that is called like one has them for itself.
  for (const { ports, ...call } of workload.calls) {
    for (const port of ports.length > 1 ? ports : [])
      Object.assign(given, callVariables({ ...call, ...port }, port.name));
  }
  for (const call of workload.calls) Object.assign(given, callVariables(call));
  if (isProxyless(plan, workload)) for (const call of workload.calls) Object.assign(given, targetVariable(plan, call));
  const own = Object.entries(workload.env).map(([name, value]) => [name, expand(value, given)]);
  return { ...given, ...Object.fromEntries(own) };
}

/** The words to execute: `$(NAME)` is replaced in a list, a line goes to the shell, which has the environment itself. */
export function commandWords(
  command: CommandLine,
  env: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return typeof command === "string" ? ["/bin/sh", "-c", command] : command.map((word) => expand(word, env));
}

/** PORT_API, where there are several. */
function portVariables({ listens }: Workload): Readonly<Record<string, string>> {
  if (listens.length < 2) return {};
  return Object.fromEntries(listens.map(({ name, appPort }) => [`PORT_${variableName(name)}`, String(appPort)]));
}

/** CATALOGUE_URL, CATALOGUE_HOST, CATALOGUE_PORT; for a named port CATALOGUE_API_URL and so on. */
function callVariables(
  { service, protocol, host, port }: Omit<Call, "ports">,
  portName?: string,
): Readonly<Record<string, string>> {
  const name = [service, ...(portName === undefined ? [] : [portName])].map(variableName).join("_");
  const scheme = protocol === "tcp" ? "tcp" : "http";
  return { [`${name}_URL`]: `${scheme}://${host}:${port}`, [`${name}_HOST`]: host, [`${name}_PORT`]: String(port) };
}

/** What gRPC with xDS calls the service. */
function targetVariable({ services }: MeshPlan, { service, port }: Call): Readonly<Record<string, string>> {
  const hostname = services.find(({ name }) => name === service)?.hostname;
  return { [`${variableName(service)}_TARGET`]: `${hostname}:${port}` };
}

function variableName(service: string): string {
  return service.toUpperCase().replaceAll("-", "_");
}

/** As Kubernetes does it: an unknown name stays as it is, `$$(NAME)` is `$(NAME)`. */
function expand(text: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replace(/(\$?)\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g, (whole, escaped: string, name: string) =>
    escaped === "$" ? whole.slice(1) : (env[name] ?? whole),
  );
}
