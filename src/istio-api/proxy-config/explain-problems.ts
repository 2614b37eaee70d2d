import type { ConfigProblem } from "../config-problem.ts";
import { isSecretField } from "../redact.ts";

/** One broken rule: the field to look at and the reference's words. */
export interface ValidationProblem {
  readonly field: string;
  readonly message: string;
  /** What the field may hold, where its name alone does not tell. */
  readonly allowed?: string;
}

/** What a field may hold, by the last part of its path; the reference's messages rarely say it. */
const ALLOWED: Readonly<Record<string, string>> = {
  configPath: "the path of a directory",
  binaryPath: "the path of a program",
  serviceCluster: "a name that is not empty",
  drainDuration: "whole seconds, 1s or more",
  parentShutdownDuration: "whole seconds, more than drainDuration, 1h at most",
  discoveryAddress: "host:port",
  address: "host:port",
  statsdUdpAddress: "host:port",
  envoyMetricsServiceAddress: "host:port",
  accessToken: "a token that is not empty",
  proxyAdminPort: "1 to 65535",
  statusPort: "1 to 65535",
  proxyListenPort: "1 to 65535",
  controlPlaneAuthPolicy: "NONE, MUTUAL_TLS",
  privateKeyProvider: "cryptomb or qat, with a pollDelay above 0s",
  connectTimeout: "whole milliseconds, 1ms to 1h",
  protocolDetectionTimeout: "whole milliseconds",
  trustDomain: "DNS labels separated by dots",
};

/** Broken rules with what is needed to mend them: where the field was set, what it holds, what it may hold. */
export function explainProblems(
  problems: readonly ValidationProblem[],
  config: object,
  sourceOf: (field: string) => string,
): readonly ConfigProblem[] {
  return problems.map((problem) => {
    const { field } = problem;
    const value = isSecretField(field) ? undefined : scalarAt(config, field);
    const allowed = problem.allowed ?? ALLOWED[field.split(".").at(-1) ?? ""];
    return {
      source: sourceOf(field),
      ...problem,
      ...(value !== undefined && { value }),
      ...(allowed !== undefined && { allowed }),
    };
  });
}

/** Top-level fields that differ between two states of a config: those a layer has set. */
export function changedFields(before: object, after: object): readonly string[] {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(now.get(name)));
}

/** `a.b[0].c` of an object tree, when it is text, a number or a boolean. */
function scalarAt(root: object, path: string): string | undefined {
  let value: unknown = root;
  for (const key of path.split(/[.[\]]+/).filter((part) => part !== "")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = new Map(Object.entries(value)).get(key);
  }
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : undefined;
}
