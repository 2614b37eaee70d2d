import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkSettings } from "../../src/capture/core/check-settings.ts";
import { deriveSettings } from "../../src/capture/core/derive-settings.ts";
import type { CaptureGeneration, CaptureOptions, CaptureSettings } from "../../src/capture/core/settings.ts";
import { CAPTURE_FLAGS } from "../../src/cli/commands/capture-flags.ts";
import { createFlagValues } from "../../src/cli/framework/flag-values.ts";
import { parseFlags } from "../../src/cli/framework/parse-flags.ts";
import { readCaptureSettings } from "../../src/settings/capture.ts";
import { configJson } from "../support/capture/config-json.ts";
import type { ConformanceCase } from "./family.ts";

/** A golden case of iptables or nftables; see the README beside the data. */
export interface CaptureCase {
  readonly name: string;
  readonly kind: string;
  readonly generation: CaptureGeneration;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, unknown>>;
  readonly requires?: {
    readonly localAddresses?: readonly string[];
    readonly resolvConfNameservers?: readonly string[];
  };
  readonly effectiveConfig?: Readonly<Record<string, unknown>>;
  readonly operations?: readonly BuilderOperation[];
  readonly table?: string;
  readonly chain?: string;
  readonly expected: Readonly<Record<string, unknown>>;
}

export interface BuilderOperation {
  readonly op: "append" | "insert";
  readonly family: "v4" | "v6" | "any" | "v6-if-enabled";
  readonly chain?: string;
  readonly table?: string;
  readonly position?: number;
  readonly params: readonly string[];
}

/** Every case below the folder, sub-folders included, under its path. */
export async function loadCases(
  dir: string,
  run: (entry: CaptureCase) => string | undefined,
): Promise<readonly ConformanceCase[]> {
  const names = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith(".json")).sort();
  return Promise.all(
    names.map(async (name) => {
      const entry = JSON.parse(await readFile(join(dir, name), "utf8")) as CaptureCase;
      return { name: name.replace(/\.json$/, ""), run: async () => run(entry) };
    }),
  );
}

export interface CaseSettings {
  readonly settings: CaptureSettings;
  readonly options: CaptureOptions;
}

/** The whole way of the command line: flags, environment, the machine of the case, then what the case injects. */
export function settingsOf(entry: CaptureCase): CaseSettings {
  const parsed = parseFlags(CAPTURE_FLAGS, entry.args, false);
  const env = { ...entry.env, ...(entry.generation === "master" ? {} : { PILOT_AGENT_GENERATION: entry.generation }) };
  const given = readCaptureSettings(createFlagValues(CAPTURE_FLAGS, parsed.set, env), env);
  const { settings } = deriveSettings(given.settings, given.envoyUser, {
    userId: () => undefined,
    localAddresses: () => entry.requires?.localAddresses ?? ["10.0.0.10"],
    resolvConf: () => (entry.requires?.resolvConfNameservers ?? []).map((server) => `nameserver ${server}\n`).join(""),
  });
  const injected: CaptureSettings = {
    ...settings,
    ipv6: injectedValue(entry, "ENABLE_INBOUND_IPV6", settings.ipv6),
    dnsServersV4: injectedValue(entry, "DNS_SERVERS_V4", settings.dnsServersV4),
    dnsServersV6: injectedValue(entry, "DNS_SERVERS_V6", settings.dnsServersV6),
  };
  const { errors } = checkSettings(injected, given.options);
  if (errors.length > 0) throw new Error(errors.join("; "));
  return { settings: injected, options: given.options };
}

function injectedValue<Value>(entry: CaptureCase, key: string, found: Value): Value {
  return key in entry.config ? (entry.config[key] as Value) : found;
}

/** Only the keys the case names; an empty list may also be written as nothing. */
export function effectiveConfigDifference(entry: CaptureCase, { settings, options }: CaseSettings): string | undefined {
  const actual = configJson(settings, options);
  for (const [key, expected] of Object.entries(entry.effectiveConfig ?? {})) {
    const found = actual[key] ?? [];
    if (JSON.stringify(found) !== JSON.stringify(expected ?? [])) {
      return `setting ${key} is ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`;
    }
  }
  return undefined;
}

/** The first line that differs, by number. */
export function lineDifference(what: string, actual: readonly string[], expected: unknown): string | undefined {
  if (!Array.isArray(expected)) return `${what}: the case has no list of lines`;
  for (let index = 0; index < Math.max(actual.length, expected.length); index += 1) {
    if (actual[index] === expected[index]) continue;
    return `${what} line ${index + 1}: got ${JSON.stringify(actual[index])}, expected ${JSON.stringify(expected[index])}`;
  }
  return undefined;
}
