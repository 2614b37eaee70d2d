import { buildStamp, formatVersion } from "../../base/build-stamp.ts";
import { untilAborted } from "../../base/wait.ts";
import { type Discovery, startDiscovery, startDiscoveryConsole } from "../../discovery/index.ts";
import { addressText, type ListenAddress } from "../../net/listen/listen.ts";
import { consoleAddress } from "../../settings/console.ts";
import { readDiscoverySettings } from "../../settings/discovery.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import type { FlagValues } from "../framework/flags.ts";
import { DISCOVERY_FLAGS } from "./discovery-flags.ts";

export const command: Command = {
  name: "discovery",
  use: "discovery",
  short: "Start Istio proxy discovery service",
  long: `Runs a control plane: reads services and traffic rules from files, and sends Envoys their configuration over xDS.

No Kubernetes is needed. Rule objects are Kubernetes style YAML below --configDir, watched; more can be put over HTTP (/config on the
HTTP port, from this machine or with a token of the control plane's namespace). The certificate authority's root is made once in
ROOT_CA_DIR (./etc/cacerts). Proxies connect over TLS with a certificate or a token, or in plaintext from this machine.`,
  example: `  # A mesh from files alone
  pilot-agent discovery --configDir ./mesh

  # With a console; its link is in a file that the log names
  pilot-agent discovery --configDir ./mesh --console 15700

  # What is connected, and what was refused
  pilot-agent discovery request GET /debug/syncz

  # A token for a workload that connects over TLS; docs/first-sidecar.md goes on from here
  pilot-agent ca --dir ./etc/cacerts --issue-token demo/web`,
  flags: DISCOVERY_FLAGS,
  toleratesUnknownFlags: true,
  checkArgs: (args) =>
    args.length > 0 ? `accepts no arguments, received ${args.length}: ${args.join(" ")}` : undefined,
  subcommands: [
    {
      name: "explain",
      short: "Shows what proxies would be sent, without running one",
      load: async () => (await import("./discovery-explain.ts")).command,
    },
    {
      name: "request",
      short: "Makes an HTTP request to the control plane's monitoring port",
      load: async () => (await import("./discovery-request.ts")).command,
    },
  ],
  run: runDiscovery,
};

async function runDiscovery(context: CommandContext): Promise<number> {
  const { log, signal } = context;
  log.info(`Version ${formatVersion(buildStamp)}`);
  const consoleText = context.flags.string("console");
  const listen = consoleText === "" ? undefined : consoleAddress(consoleText);
  const options = { ...readDiscoverySettings(context.flags, context.env, log), log };
  for (const line of discoveryWarnings(context.flags)) log.warn(line);
  const started = await startDiscovery({ ...options, signal }).catch((failure: unknown) => {
    // A cancelled start has not failed.
    if (!signal.aborted) throw failure;
    log.info("Stopping during the start", { reason: String(signal.reason) });
  });
  if (started === undefined) return 0;
  await using discovery = started;
  for (const line of portLines(discovery)) log.info(line);
  const systemNamespace = options.systemNamespace ?? "istio-system";
  const consoleLog = log.scope("console");
  await using _console =
    listen && (await startDiscoveryConsole({ discovery, listen, systemNamespace, log: consoleLog }));
  if (options.sharesHttpPort && options.ports.http !== undefined) log.info("xDS in plaintext is on the HTTP port");
  await Promise.race([untilAborted(signal), discovery.ended]);
  log.info("Stopping", { reason: String(signal.reason ?? "ended") });
  await discovery.stop();
  return 0;
}

const PORT_TEXTS: readonly (readonly [keyof Discovery["addresses"], string])[] = [
  ["http", "HTTP (/ready, /debug, /config)"],
  ["monitoring", "monitoring (/metrics, /version, /debug)"],
  ["grpc", "xDS in plaintext"],
  ["secureGrpc", "xDS and CA over TLS"],
  ["https", "webhooks (/inject, /validate)"],
];

function portLines({ addresses }: Discovery): string[] {
  return PORT_TEXTS.flatMap(([name, text]) => {
    const address: ListenAddress | undefined = addresses[name];
    return address === undefined ? [] : [`Listening on ${addressText(address)}: ${text}`];
  });
}

/** What an operator of the reference expects and does not get here, one line each; said at the start. */
export function discoveryWarnings(flags: FlagValues): readonly string[] {
  return flags.string("configDir") === ""
    ? ["No --configDir is given: rules come from the /config API alone and end with the process"]
    : [];
}
