import type {
  AuthorizationOperation,
  AuthorizationPolicySpec,
  AuthorizationRule,
  AuthorizationSource,
} from "../specs.ts";
import { portProblem } from "../values/address.ts";
import { isPathTemplate, parsePathTemplate } from "./authorization-policy-path.ts";
import { validateSelector } from "./labels.ts";
import type { Report } from "./report.ts";
import { validateTargetRefs } from "./target-ref.ts";
import { subnetReason } from "./values.ts";

/** Who may call a workload. What would be read as something wider than meant is an error. */
export function validateAuthorizationPolicy(report: Report, spec: AuthorizationPolicySpec): void {
  const { selector, rules, action, provider } = spec;
  validateSelector(report.at("selector", "matchLabels"), selector?.matchLabels ?? {});
  validateTargetRefs(report, spec);
  if (action === "CUSTOM") {
    report.error((provider?.name ?? "") === "" ? "`provider.name` must not be empty" : undefined, "provider");
    tellTokens(report, rules);
  } else if (provider !== undefined) {
    report.error(`\`provider\` must not be with non CUSTOM action, found ${action}`, "provider");
  }
  if (rules.length === 0) tellEmpty(report, action);
  rules.forEach((rule, index) => {
    validateRule(report.at("rules", index), rule, index);
  });
}

function tellEmpty(report: Report, action: AuthorizationPolicySpec["action"]): void {
  if (action === "ALLOW") {
    report.warn("ALLOW action without `rules` matches nothing: every request is denied", "rules");
    return;
  }
  if (action === "AUDIT") {
    report.warn("AUDIT action without `rules` matches nothing", "rules");
    return;
  }
  report.error(
    `${action} action without \`rules\` is meaningless as it will never be triggered, add an empty rule \`{}\` if you want it be triggered on every request`,
    "rules",
  );
}

/** Providers are asked before tokens are looked at; a rule about tokens would never match, and no provider would be asked. */
function tellTokens(report: Report, rules: readonly AuthorizationRule[]): void {
  rules.forEach(({ from, when }, index) => {
    const warn = (name: string, ...path: readonly (string | number)[]) =>
      report.error(`${name} is not supported with CUSTOM action`, "rules", index, ...path);
    from.forEach(({ source }, at) => {
      for (const name of ["requestPrincipals", "notRequestPrincipals"] as const) {
        if ((source?.[name].length ?? 0) > 0) warn(name, "from", at, "source", name);
      }
    });
    when.forEach(({ key }, at) => {
      if (key.startsWith("request.auth.")) warn(key, "when", at, "key");
    });
  });
}

function validateRule(report: Report, { from, to, when }: AuthorizationRule, rule: number): void {
  from.forEach(({ source }, index) => {
    const at = report.at("from", index);
    if (source === undefined) {
      at.error(`\`from\` must not be empty, found at rule ${rule}`);
      return;
    }
    validateValues(at.at("source"), source, "source", rule);
    const accounts = source.serviceAccounts.length + source.notServiceAccounts.length;
    const others = [source.namespaces, source.notNamespaces, source.principals, source.notPrincipals];
    if (accounts > 0 && others.some((values) => values.length > 0)) {
      at.error(`cannot set serviceAccounts with namespaces or principals, found at rule ${rule}`, "source");
    }
  });
  to.forEach(({ operation }, index) => {
    const at = report.at("to", index);
    if (operation === undefined) at.error(`\`to\` must not be empty, found at rule ${rule}`);
    else validateValues(at.at("operation"), operation, "operation", rule);
  });
  when.forEach((condition, index) => {
    validateCondition(report.at("when", index), condition);
  });
}

function validateValues(
  report: Report,
  lists: AuthorizationSource | AuthorizationOperation,
  name: "source" | "operation",
  rule: number,
): void {
  const fields: readonly (readonly [string, readonly string[]])[] = Object.entries(lists);
  if (fields.every(([, values]) => values.length === 0)) {
    report.error(`\`${name}\` must not be empty, found at rule ${rule}`);
  }
  for (const [field, values] of fields) {
    values.forEach((value, index) => {
      report.error(valueReason(kindOfField(field), value), field, index);
    });
  }
}

function validateCondition(report: Report, condition: AuthorizationRule["when"][number]): void {
  const { key, values, notValues } = condition;
  if (key === "") {
    report.error("`key` must not be empty", "key");
    return;
  }
  report.error(KEYS.test(key) ? undefined : `unknown attribute: ${key}`, "key");
  if (values.length === 0 && notValues.length === 0) {
    report.error(`at least one of \`values\` or \`notValues\` must be set for key ${key}`);
  }
  for (const [field, list] of Object.entries({ values, notValues })) {
    list.forEach((value, index) => {
      report.error(valueReason(KINDS[key], value), field, index);
    });
  }
}

const KEYS = new RegExp(
  "^(source\\.(ip|namespace|principal|serviceAccount|trustDomain)|remote\\.ip|destination\\.(ip|port)|connection\\.sni" +
    "|request\\.auth\\.(principal|audiences|presenter)|request\\.auth\\.claims(\\[[^[\\]]+\\])+" +
    "|request\\.headers\\[:?[-_A-Za-z0-9]+\\]|experimental\\.envoy\\.filters\\.[^[\\]]+\\[.+\\])$",
);

type ValueKind = "ip" | "port" | "path" | "account" | "principal";

const KINDS: Readonly<Record<string, ValueKind>> = {
  "source.ip": "ip",
  "remote.ip": "ip",
  "destination.ip": "ip",
  "destination.port": "port",
  "source.serviceAccount": "account",
  "request.auth.principal": "principal",
  ipBlocks: "ip",
  remoteIpBlocks: "ip",
  ports: "port",
  paths: "path",
  serviceAccounts: "account",
  requestPrincipals: "principal",
};

/** `notIpBlocks` holds the same as `ipBlocks`. */
function kindOfField(field: string): ValueKind | undefined {
  return KINDS[field.replace(/^not(.)/, (_, first: string) => first.toLowerCase())];
}

function valueReason(kind: ValueKind | undefined, value: string): string | undefined {
  if (value === "") return "value must not be empty";
  switch (kind) {
    case "ip":
      return subnetReason(value);
    case "port":
      return /^\d{1,9}$/.test(value) ? portProblem(Number(value)) : `invalid port ${JSON.stringify(value)}`;
    case "path":
      return pathReason(value);
    case "account":
      return /^([^/*]+\/)?[^/*]+$/.test(value) ? undefined : `${value} is not NAMESPACE/SERVICE_ACCOUNT`;
    case "principal":
      return /^\*|\*$|[^/]\/[^/]+$/.test(value) ? undefined : `${value} is not ISSUER/SUBJECT`;
    case undefined:
      return undefined;
  }
}

function pathReason(path: string): string | undefined {
  const isTemplate = isPathTemplate(path);
  if (isTemplate && parsePathTemplate(path) !== undefined) return undefined;
  if (!isTemplate && !/[{}]/.test(path)) return undefined;
  return `invalid or unsupported path ${path}. Contains '{' or '}' beyond a supported path template`;
}
