import { type IpAddress, isLoopback, parseIp } from "../../net/ip.ts";
import { explainSamples } from "./explain-samples.ts";
import { explainInWords } from "./explain-words.ts";
import { toIptables } from "./iptables-args.ts";
import { toNft } from "./nft-args.ts";
import { formatPacket, type Packet, parsePacket } from "./packet.ts";
import type { Rule } from "./rule.ts";
import type { OwnerNames } from "./rule-key.ts";
import type { CaptureSettings } from "./settings.ts";
import { createWalker, type Fate, type Walk, type WalkStep } from "./walk.ts";

export interface ExplainInput {
  readonly settings: CaptureSettings;
  readonly rules: readonly Rule[];
  readonly names: OwnerNames;
  /** Addresses of this machine, to know what is a call to itself. */
  readonly localAddresses: readonly IpAddress[];
}

/** Plain words, then a table in which every line is a packet that was walked through the rules. */
export function explainCapture(input: ExplainInput): string {
  const walk = walkerOf(input);
  const rows = explainSamples(input.settings).map(({ title, packet: text }) => {
    const packet = parsePacket(text, isLocalTo(input));
    const result = walk(packet);
    return [title, formatPacket(packet), fateText(result.fate, input.settings), decision(result, input)];
  });
  const table = formatTable([["Traffic", "Packet", "What happens", "Decided by"], ...rows]);
  return `${explainInWords(input.settings).join("\n")}\n\n${table}\n`;
}

/** One packet: every rule it matched, and the one that settled its fate. */
export function explainPacket(input: ExplainInput, text: string): string {
  const packet = parsePacket(text, isLocalTo(input));
  const result = walkerOf(input)(packet);
  const lines = [
    `Packet    ${formatPacket(packet)}`,
    ...result.steps.map((step, index) => `${index === 0 ? "Matches   " : "          "}${stepText(step, input)}`),
    `Fate      ${fateText(result.fate, input.settings)}`,
    `Decided   ${decision(result, input)}`,
    ...(result.zone === 0 ? [] : [`Zone      conntrack zone ${result.zone}`]),
    ...(result.mark === packet.mark ? [] : [`Mark      ${result.mark}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function walkerOf({ rules, names, settings }: ExplainInput): (packet: Packet) => Walk {
  return createWalker(rules, { names, backend: settings.nativeNftables ? "nft" : "iptables" });
}

function isLocalTo({ localAddresses, settings }: ExplainInput): (address: IpAddress) => boolean {
  const own = [...localAddresses, parseIp(settings.hostIp)].filter((address) => address !== undefined);
  return (address) =>
    isLoopback(address) ||
    isPassthrough(address) ||
    own.some((local) => local.family === address.family && local.words.join() === address.words.join());
}

function isPassthrough({ family, words }: IpAddress): boolean {
  return family === 6 && words.join() === "0,0,0,6";
}

function fateText(fate: Fate, settings: CaptureSettings): string {
  switch (fate.kind) {
    case "direct":
      return "goes its own way, not captured";
    case "dropped":
      return "is dropped";
    case "translated":
      return `is sent to ${fate.to}`;
    case "tproxied":
      return `to Envoy on port ${fate.port}, addresses unchanged (TPROXY)`;
    case "redirected":
      return `to ${receiver(fate.port, settings)} on port ${fate.port}`;
  }
}

function receiver(port: number, settings: CaptureSettings): string {
  if (port === 15053) return "the agent's DNS server";
  if (String(port) === settings.inboundCapturePort) return "Envoy (inbound)";
  return String(port) === settings.proxyPort ? "Envoy (outbound)" : "the listener";
}

function decision({ decidedBy, steps }: Walk, input: ExplainInput): string {
  if (decidedBy !== undefined) return stepText(decidedBy, input);
  return steps.length === 0 ? "no rule matches" : "no matching rule changes it";
}

/** Table, chain, position in the chain, and the rule as the backend writes it. */
function stepText({ table, chain, number, rule }: WalkStep, { settings }: ExplainInput): string {
  if (settings.nativeNftables) {
    const [written] = toNft([rule]);
    return `${written?.table} ${written?.chain} rule ${number}: ${written?.words.join(" ")}`;
  }
  const [written] = toIptables([rule], rule.family === "v6" ? "v6" : "v4");
  return `${table} ${chain} rule ${number}: ${written?.params.join(" ")}`;
}

function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join("  "),
    )
    .join("\n");
}
