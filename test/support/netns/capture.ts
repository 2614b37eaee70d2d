import { PROGRAM } from "../process/program.ts";
import type { Netns, NetnsResult } from "./netns.ts";

/** The three ways to program the kernel, as flags of the command. */
export const BACKENDS = [
  { backend: "iptables-nft", flags: ["--force-iptables-binary", "nft"], save: "iptables-nft-save" },
  { backend: "iptables-legacy", flags: ["--force-iptables-binary", "legacy"], save: "iptables-legacy-save" },
  { backend: "nft", flags: ["--native-nftables"], save: undefined },
] as const;

/** Runs the built command inside a namespace. */
export function istioIptables(
  netns: Netns,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<NetnsResult> {
  return netns.exec(PROGRAM, ["istio-iptables", ...args], { env });
}

/** Everything that capture may change: rules of every backend and version, routes, addresses. */
export async function networkState(netns: Netns): Promise<string> {
  const commands = [
    "iptables-nft-save",
    "ip6tables-nft-save",
    "iptables-legacy-save",
    "ip6tables-legacy-save",
    "nft list ruleset inet",
    "ip -4 rule list",
    "ip -6 rule list",
    "ip -4 route list table all",
    "ip -6 addr show dev lo",
  ];
  const texts = (await netns.script(commands.flatMap((command) => ["echo @@@@", command]))).split("@@@@\n").slice(1);
  return texts.map((text, index) => `# ${commands[index]}\n${settled(text)}`).join("\n");
}

/** Emptied built-in chains stay behind, as with any use of iptables; times and counters say nothing. */
function settled(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/^(#|:|\*|COMMIT|table ip6? |\t?chain [A-Z]+ \{|\t\ttype |\t?\}|\s*$)/.test(line))
    .map((line) => line.replace(/packets \d+ bytes \d+/, ""))
    .join("\n");
}
