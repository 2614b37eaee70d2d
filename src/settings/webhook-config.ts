import type { WebhookConfigurationOptions } from "../inject/index.ts";
import { parsePemCertificates } from "../protocol/x509/pem.ts";
import type { FlagValues } from "./flag-values.ts";
import { chooseGeneration } from "./generations.ts";
import { injectionRules } from "./inject.ts";

/** The flags of `kube-inject webhook-config`. Throws with the value that is wrong and what is allowed. */
export function readWebhookConfigOptions(
  flags: FlagValues,
  env: Readonly<Record<string, string | undefined>>,
  caBundle: string,
): WebhookConfigurationOptions {
  const url = flags.string("url");
  if (url !== "" && !(URL.canParse(url) && new URL(url).protocol === "https:")) {
    throw new Error(`--url is ${JSON.stringify(url)}, expected https://HOST[:PORT]/inject`);
  }
  const path = flags.string("path");
  if (!path.startsWith("/")) throw new Error(`--path is ${JSON.stringify(path)}, expected a path like /inject`);
  if (caBundle !== "" && parsePemCertificates(caBundle).length === 0) {
    throw new Error(`--caFile ${flags.string("caFile")} has no PEM certificate`);
  }
  return {
    revision: nameOf(flags, "revision"),
    tag: nameOf(flags, "tag"),
    systemNamespace: flags.string("istioNamespace"),
    url,
    serviceName: flags.string("service"),
    path,
    caBundle,
    namespacesByDefault: flags.bool("enableNamespacesByDefault"),
    selectsObjects: flags.bool("objectSelector"),
    reinvocationPolicy: oneOf(flags, "reinvocationPolicy", ["Never", "IfNeeded"]),
    failurePolicy: oneOf(flags, "failurePolicy", ["Fail", "Ignore"]),
    rules: injectionRules(chooseGeneration(env.PILOT_AGENT_GENERATION)),
  };
}

/** Part of an object's name and a label's value. */
function nameOf(flags: FlagValues, flag: string): string {
  const name = flags.string(flag);
  if (name === "" || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) return name;
  throw new Error(`--${flag} is ${JSON.stringify(name)}, allowed: lower case letters, digits and '-', at most 63`);
}

function oneOf<Value extends string>(flags: FlagValues, flag: string, allowed: readonly Value[]): Value {
  const found = allowed.find((value) => value === flags.string(flag));
  if (found !== undefined) return found;
  throw new Error(`--${flag} is ${JSON.stringify(flags.string(flag))}, allowed are ${allowed.join(", ")}`);
}
