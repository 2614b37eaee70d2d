import { errorMessage } from "../../base/coded-error.ts";
import {
  type CaptureSettings,
  checkSettings,
  cleanCapture,
  cleanCommands,
  DEFAULT_OPTIONS,
  DEFAULT_SETTINGS,
  deriveSettings,
  GENERATION_SHAPES,
  MACHINE_FILES,
  machineFacts,
  writeRecord,
} from "../../capture/index.ts";
import { captureGeneration } from "../../settings/capture.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { CLEAN_FLAGS } from "./capture-flags.ts";

export const command: Command = {
  name: "istio-clean-iptables",
  use: "istio-clean-iptables",
  short: "Clean up iptables rules for Istio Sidecar",
  long: "istio-clean-iptables removes everything that traffic capture set up: rules, chains, addresses and routes, by looking at what is there.",
  flags: CLEAN_FLAGS,
  async run(context) {
    const settings = cleanSettings(context);
    const options = { ...DEFAULT_OPTIONS, dryRun: context.flags.bool("dry-run"), cleanupOnly: true };
    const { errors } = checkSettings(settings, options);
    if (errors.length > 0) throw new Error(errors.join("; "));
    if (options.dryRun) return showCommands(context, settings);
    try {
      await cleanCapture({ settings, options, env: context.env, log: context.log, print: context.print });
      return 0;
    } catch (thrown) {
      context.log.error(errorMessage(thrown));
      return 1;
    }
  },
};

/** The dry run lists the commands of the generations that had this command; its successor in master is `--cleanup-only`. */
async function showCommands({ env, log, print }: CommandContext, settings: CaptureSettings): Promise<number> {
  const record = cleanCommands(settings);
  if (GENERATION_SHAPES[settings.generation].shows === "commands") for (const line of record) log.info(line);
  else print(`${record.join("\n")}\n`);
  await writeRecord(record, env.DRY_RUN_FILE_PATH ?? "", log);
  return 0;
}

function cleanSettings({ flags, env }: CommandContext): CaptureSettings {
  const generation = captureGeneration(env.PILOT_AGENT_GENERATION);
  const facts = machineFacts(MACHINE_FILES);
  const uid = flags.string("proxy-uid") || facts.userId(env.ENVOY_USER || "istio-proxy") || "1337";
  const redirectDns = flags.bool("redirect-dns");
  const given: CaptureSettings = {
    ...DEFAULT_SETTINGS,
    generation: GENERATION_SHAPES[generation].cleansAs ?? generation,
    proxyUid: uid,
    proxyGid: flags.string("proxy-gid") || uid,
    redirectDns,
    // The words that Go takes for true.
    captureAllDns: /^(1|t|T|TRUE|true|True)$/.test(env.CAPTURE_ALL_DNS ?? ""),
    ownerGroupsInclude: env.ISTIO_OUTBOUND_OWNER_GROUPS || "*",
    ownerGroupsExclude: env.ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE ?? "",
    interceptionMode: env.INBOUND_INTERCEPTION_MODE || flags.string("istio-inbound-interception-mode"),
    tproxyMark: env.INBOUND_TPROXY_MARK || flags.string("istio-inbound-tproxy-mark"),
    hostIp: "",
  };
  // Resolvers only matter for the listed commands; live cleaning does not need them.
  if (!redirectDns || !flags.bool("dry-run")) return given;
  const { settings } = deriveSettings(given, "", {
    ...facts,
    localAddresses: () => ["127.0.0.2", "10.0.0.10"],
  });
  return settings;
}
