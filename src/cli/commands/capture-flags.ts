import { errorMessage } from "../../base/coded-error.ts";
import type { CommandContext } from "../framework/command.ts";
import type { FlagSpec, FlagValues } from "../framework/flags.ts";
import { parseFlagValue } from "../framework/parse-flags.ts";

interface Extra {
  readonly short?: string;
  /** Names that are looked at before the one derived from the flag. */
  readonly env?: readonly string[];
  readonly deprecated?: string;
  readonly hidden?: boolean;
}

const spec = (name: string, extra: Extra) => ({
  name,
  ...(extra.short === undefined ? {} : { short: extra.short }),
  ...(extra.deprecated === undefined ? {} : { deprecated: extra.deprecated }),
  ...(extra.hidden === undefined ? {} : { hidden: extra.hidden }),
  env: [...(extra.env ?? []), name.replaceAll("-", "_").toUpperCase()],
});

const text = (name: string, fallback: string, usage: string, extra: Extra = {}): FlagSpec => ({
  ...spec(name, extra),
  type: "string",
  default: fallback,
  usage,
});

const bool = (name: string, usage: string, extra: Extra = {}, fallback = false): FlagSpec => ({
  ...spec(name, extra),
  type: "bool",
  default: fallback,
  usage,
});

const PROXY_UID = text("proxy-uid", "", "UIDs whose traffic is not captured", { short: "u" });
const PROXY_GID = text("proxy-gid", "", "GIDs whose traffic is not captured (default: as --proxy-uid)", {
  short: "g",
});
const REDIRECT_DNS = bool("redirect-dns", "Capture DNS queries", { env: ["ISTIO_META_DNS_CAPTURE"] });
const DRY_RUN = bool("dry-run", "Do not call any external program, only show what would be run", { short: "n" });
const MODE = text(
  "istio-inbound-interception-mode",
  "",
  "How inbound connections reach Envoy: REDIRECT, TPROXY or NONE",
  { short: "m" },
);
const MARK = text("istio-inbound-tproxy-mark", "1337", "Packet mark of TPROXY mode", { short: "t" });

/** `istio-iptables`: the flags of every generation. */
export const CAPTURE_FLAGS: readonly FlagSpec[] = [
  text("envoy-port", "15001", "Port to which outbound TCP traffic is redirected", { short: "p" }),
  text("inbound-capture-port", "15006", "Port to which inbound TCP traffic is redirected", { short: "z" }),
  text("inbound-tunnel-port", "15008", "HBONE port, never redirected", { short: "e" }),
  PROXY_UID,
  PROXY_GID,
  MODE,
  text("istio-inbound-ports", "", "Inbound ports to capture, * for all, empty for none", { short: "b" }),
  text("istio-local-exclude-ports", "", "Inbound ports not to capture; only used with -b '*'", { short: "d" }),
  text("istio-exclude-interfaces", "", "Interfaces whose traffic is not captured", { short: "c" }),
  text("istio-service-cidr", "", "Outbound destinations to capture, * for all, empty for none", { short: "i" }),
  text("istio-service-exclude-cidr", "", "Outbound destinations not to capture", { short: "x" }),
  text("istio-outbound-ports", "", "Outbound ports to capture in addition", { short: "q" }),
  text("istio-local-outbound-ports-exclude", "", "Outbound ports not to capture", { short: "o" }),
  text("kube-virt-interfaces", "", "Virtual interfaces whose inbound traffic is treated as outbound", { short: "k" }),
  MARK,
  text("istio-inbound-tproxy-route-table", "133", "Routing table of TPROXY mode", { short: "r" }),
  DRY_RUN,
  {
    ...spec("iptables-probe-port", {}),
    type: "uint16",
    default: 15002,
    usage: "Port that validation connects to",
  },
  {
    ...spec("probe-timeout", {}),
    type: "duration",
    default: 5_000_000_000n,
    usage: "How long validation waits for its connection to arrive",
  },
  bool("skip-rule-apply", "Change nothing; for validation only"),
  bool("run-validation", "Check with real connections that traffic is captured"),
  REDIRECT_DNS,
  bool("drop-invalid", "Drop packets that connection tracking calls invalid", { env: ["INVALID_DROP"] }),
  bool("dual-stack", "Capture IPv6 as well where IPv4 comes first", { env: ["ISTIO_DUAL_STACK"] }),
  bool("capture-all-dns", "Capture DNS queries to any server, not only to those of /etc/resolv.conf"),
  text("network-namespace", "", "Network namespace to program, as a path"),
  bool("cni-mode", "Host file system, pod network: isolate the programs that are run"),
  bool("reconcile", "Replace rules that differ from the wanted ones"),
  bool("cleanup-only", "Remove the rules instead of creating them"),
  bool("force-apply", "Apply even when everything seems to be in place"),
  bool("native-nftables", "Use nft instead of iptables"),
  text("force-iptables-binary", "", "Use this kind of iptables: legacy or nft"),
  bool(
    "restore-format",
    "Accepted for older generations; false lists single commands in their dry run",
    { short: "f", hidden: true },
    true,
  ),
  bool("iptables-trace-logging", "Log every captured packet to NFLOG group 1337"),
  text("iptables-version", "", "Accepted for older generations", {
    hidden: true,
    deprecated: "the program is detected",
  }),
  text(
    "packet",
    "",
    "With `explain`: a packet to walk through the rules, such as 'tcp 10.0.0.5:40000 -> 10.1.2.3:443 uid 1000'",
  ),
];

/** `istio-clean-iptables`: none is needed, the rules are found by looking. */
export const CLEAN_FLAGS: readonly FlagSpec[] = [DRY_RUN, PROXY_UID, PROXY_GID, REDIRECT_DNS, MODE, MARK];

/** The reference silently takes zero for values it cannot read; here the default stays, and the reader learns of it. */
export function captureWarnings(flags: FlagValues, env: CommandContext["env"]): readonly string[] {
  const warnings = CAPTURE_FLAGS.flatMap((spec) =>
    (spec.env ?? []).flatMap((name) => {
      const value = env[name];
      if (value === undefined || flags.changed(spec.name)) return [];
      try {
        parseFlagValue(spec, value);
        return [];
      } catch (cause) {
        return [`ignoring environment variable ${name}: ${errorMessage(cause)} (expected a ${spec.type})`];
      }
    }),
  );
  if (env.ISTIO_OUTBOUND_OWNER_GROUPS !== "") return warnings;
  return [...warnings, "ISTIO_OUTBOUND_OWNER_GROUPS is empty and means *; name a group to capture less"];
}
