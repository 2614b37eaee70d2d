import { errorMessage } from "../../base/coded-error.ts";
import * as capture from "../../capture/index.ts";
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
    const options = { ...capture.DEFAULT_OPTIONS, dryRun: context.flags.bool("dry-run"), cleanupOnly: true };
    const { errors } = capture.checkSettings(settings, options);
    if (errors.length > 0) throw new Error(errors.join("; "));
    if (options.dryRun) return showCommands(context, settings);
    try {
      await capture.cleanCapture({ settings, options, env: context.env, log: context.log, print: context.print });
      return 0;
    } catch (thrown) {
      context.log.error(errorMessage(thrown));
      return 1;
    }
  },
};

/** The dry run lists the commands of the generations that had this command; its successor in master is `--cleanup-only`. */
async function showCommands({ env, log, print }: CommandContext, settings: capture.CaptureSettings): Promise<number> {
  const record = capture.cleanCommands(settings);
  if (settings.generation === "1.20") for (const line of record) log.info(line);
  else print(`${record.join("\n")}\n`);
  await capture.writeRecord(record, env.DRY_RUN_FILE_PATH ?? "", log);
  return 0;
}

function cleanSettings({ flags, env }: CommandContext): capture.CaptureSettings {
  const generation = captureGeneration(env.PILOT_AGENT_GENERATION);
  const facts = capture.machineFacts(capture.MACHINE_FILES);
  const uid = flags.string("proxy-uid") || facts.userId(env.ENVOY_USER || "istio-proxy") || "1337";
  const redirectDns = flags.bool("redirect-dns");
  const given: capture.CaptureSettings = {
    ...capture.DEFAULT_SETTINGS,
    generation: generation === "master" ? "1.20" : generation,
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
  const { settings } = capture.deriveSettings(given, "", {
    ...facts,
    localAddresses: () => ["127.0.0.2", "10.0.0.10"],
  });
  return settings;
}
