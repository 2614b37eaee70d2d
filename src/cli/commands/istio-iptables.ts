import { errorMessage } from "../../base/coded-error.ts";
import {
  buildRules,
  type CaptureOptions,
  type CaptureRun,
  type CaptureSettings,
  checkSettings,
  deriveSettings,
  explainCapture,
  explainPacket,
  hasNativeTables,
  localAddresses,
  MACHINE_FILES,
  type MachineFacts,
  machineFacts,
  namespaceAddresses,
  ownerNames,
  runCapture,
  runProgram,
  usableAddresses,
  validateCapture,
} from "../../capture/index.ts";
import { readCaptureSettings } from "../../settings/capture.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { CAPTURE_FLAGS, captureWarnings } from "./capture-flags.ts";

const EXIT_FAILED = 1;
/** What the CNI repair controller looks for. */
const EXIT_NOT_CAPTURED = 126;

export const command: Command = {
  name: "istio-iptables",
  use: "istio-iptables",
  short: "Set up iptables rules for Istio Sidecar",
  long:
    "istio-iptables sets up traffic capture for the sidecar: inbound and outbound TCP, and DNS on request. With the word explain in\n" +
    "front of the same flags it only shows what would happen to which traffic.",
  example: `  # Capture everything but the health ports, as the injected init container does
  pilot-agent istio-iptables -p 15001 -z 15006 -u 1337 -m REDIRECT -i '*' -x "" -b '*' -d 15090,15021

  # Which rule decides about this connection?
  pilot-agent istio-iptables explain -i '*' -b '*' --packet 'tcp 10.0.0.5:40000 -> 10.1.2.3:443 uid 1000'`,
  flags: CAPTURE_FLAGS,
  // Errors of the run are only logged: the reference prints no Error line here and has its own codes.
  run: (context) =>
    runIptables(context).catch((thrown: unknown) => {
      for (const line of errorLines(thrown)) context.log.error(line);
      return EXIT_FAILED;
    }),
};

class InvalidSettings extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.problems = problems;
  }
}

function errorLines(thrown: unknown): readonly string[] {
  return thrown instanceof InvalidSettings ? thrown.problems : [errorMessage(thrown)];
}

async function runIptables(context: CommandContext): Promise<number> {
  const { flags, env, log, print } = context;
  const given = readCaptureSettings(flags, env);
  const { options } = given;
  for (const warning of captureWarnings(flags, env)) log.warn(warning);
  const isExplain = context.args[0] === "explain";
  const isTolerant = isExplain || (options.cleanupOnly && !options.dryRun);
  const hasNative = isExplain ? undefined : lookAhead(given);
  const derived = deriveSettings(given.settings, given.envoyUser, facts(isTolerant, options.networkNamespace));
  const { settings } = derived;
  const problems = checkSettings(settings, options);
  if (problems.errors.length > 0) throw new InvalidSettings(problems.errors);
  if (!isExplain) for (const warning of [...problems.warnings, ...derived.warnings]) log.warn(warning);
  if (isExplain) {
    print(await explain(context, settings));
    return 0;
  }
  if (!options.skipRuleApply) {
    await runCapture({ settings, options, env, log, print, ...(hasNative === undefined ? {} : { hasNative }) });
  }
  return options.runValidation ? await validate(context, settings, options) : 0;
}

/** A program that only looks; it runs while the settings are made out. */
function lookAhead({ settings, options }: Pick<CaptureRun, "settings" | "options">): Promise<boolean> | undefined {
  const isWanted = !settings.nativeNftables && !options.dryRun && !options.cleanupOnly && !options.skipRuleApply;
  return isWanted && options.networkNamespace === "" ? hasNativeTables({ run: runProgram }) : undefined;
}

/** Explaining and cleaning work anywhere, so a machine without addresses or resolvers is no obstacle to them. */
function facts(isTolerant: boolean, networkNamespace: string): MachineFacts {
  const real = machineFacts(MACHINE_FILES);
  const elsewhere = () => namespaceAddresses(networkNamespace);
  const inNamespace = networkNamespace === "" ? real : { ...real, localAddresses: elsewhere };
  if (!isTolerant) return inNamespace;
  return {
    ...inNamespace,
    localAddresses: () => {
      const found = inNamespace.localAddresses();
      return usableAddresses(found).length > 0 ? found : ["10.0.0.10"];
    },
    resolvConf: () => {
      try {
        return real.resolvConf();
      } catch {
        return "";
      }
    },
  };
}

async function explain({ flags }: CommandContext, settings: CaptureSettings): Promise<string> {
  const input = {
    settings,
    rules: buildRules(settings),
    names: await ownerNames(settings, MACHINE_FILES, runProgram),
    localAddresses: usableAddresses(localAddresses(MACHINE_FILES.procNet)),
  };
  const packet = flags.string("packet");
  return packet === "" ? explainCapture(input) : explainPacket(input, packet);
}

async function validate(
  { log, signal }: CommandContext,
  settings: CaptureSettings,
  options: CaptureOptions,
): Promise<number> {
  const failures = await validateCapture({
    settings,
    probePort: options.probePort,
    timeoutMs: Number(options.probeTimeoutNs) / 1e6,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    names: await ownerNames(settings, MACHINE_FILES, runProgram),
    signal,
    log,
  });
  if (failures.length === 0) {
    log.info("Validation passed, iptables rules established");
    return 0;
  }
  log.error(
    `iptables validation failed; workload is not ready for Istio.\n${failures.map((failure) => `  ${failure}\n`).join("")}` +
      `Validation connects to a port without a server and expects the connection at the port of Envoy. It must run as one of the\n` +
      `proxy's users (${settings.proxyUid}) or as root, with the same flags as the rules.\n` +
      "When using Istio CNI, this can occur if a pod is scheduled before the node is ready.\n" +
      "  If installed with 'cni.repair.deletePods=true', this pod should automatically be deleted and retry.\n" +
      "  Otherwise, this pod will need to be manually removed so that it is scheduled on a node with istio-cni running.",
  );
  return EXIT_NOT_CAPTURED;
}
