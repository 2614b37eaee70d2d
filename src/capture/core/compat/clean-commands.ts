import { GENERATION_SHAPES } from "../generations.ts";
import { toIptables } from "../iptables-args.ts";
import { createRuleList } from "../rule-list.ts";
import { type CaptureSettings, isTproxy } from "../settings.ts";
import { dnsUdpInOutput } from "./old-steps.ts";

const JUMPS = [
  "-t nat -D PREROUTING -p tcp -j ISTIO_INBOUND",
  "-t mangle -D PREROUTING -p tcp -j ISTIO_INBOUND",
  "-t nat -D OUTPUT -p tcp -j ISTIO_OUTPUT",
];
const CHAINS = [
  "nat ISTIO_OUTPUT",
  "nat ISTIO_INBOUND",
  "mangle ISTIO_INBOUND",
  "mangle ISTIO_DIVERT",
  "mangle ISTIO_TPROXY",
];
/** Last, because the others refer to them. */
const TARGET_CHAINS = ["nat ISTIO_REDIRECT", "nat ISTIO_IN_REDIRECT"];

/** What `istio-clean-iptables` of 1.7 and 1.20 runs, for both programs, then the two saves: the form its dry run prints. */
export function cleanCommands(settings: CaptureSettings): readonly string[] {
  const commands = [
    ...JUMPS,
    ...dnsDeletes(settings),
    ...removeChains(CHAINS),
    ...tproxyDeletes(settings),
    ...removeChains(TARGET_CHAINS),
  ];
  const both = ["iptables", "ip6tables"].flatMap((program) => commands.map((command) => `${program} ${command}`));
  return [...both, "iptables-save", "ip6tables-save"];
}

function removeChains(chains: readonly string[]): readonly string[] {
  return chains.flatMap((chain) => {
    const [table, name] = chain.split(" ");
    return [`-t ${table} -F ${name}`, `-t ${table} -X ${name}`];
  });
}

/** Rules that belong to both IP versions were written for each of them, and so are deleted twice. */
function dnsDeletes(settings: CaptureSettings): readonly string[] {
  if (!GENERATION_SHAPES[settings.generation].cleansBuiltInChains || !settings.redirectDns) return [];
  const list = createRuleList({ ...settings, ipv6: true }, { masksPrefixes: false });
  dnsUdpInOutput(list);
  return list.rules.flatMap((rule) => {
    const families = rule.family === "any" ? (["v4", "v6"] as const) : [rule.family];
    return families.flatMap((family) =>
      toIptables([rule], family).map((args) => `-t ${args.table} -D ${args.chain} ${args.params.join(" ")}`),
    );
  });
}

function tproxyDeletes(settings: CaptureSettings): readonly string[] {
  if (!GENERATION_SHAPES[settings.generation].cleansBuiltInChains || !isTproxy(settings)) return [];
  const mark = settings.tproxyMark;
  return [
    `-t mangle -D PREROUTING -p tcp -m mark --mark ${mark} -j CONNMARK --save-mark`,
    `-t mangle -D OUTPUT -p tcp -m connmark --mark ${mark} -j CONNMARK --restore-mark`,
  ];
}
