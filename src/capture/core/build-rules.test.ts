import { expect, test } from "vitest";
import { buildRules } from "./build-rules.ts";
import { restoreInputs } from "./dry-run.ts";
import { toIptables } from "./iptables-args.ts";
import { toNft } from "./nft-args.ts";
import { nftTransaction } from "./nft-transaction.ts";
import { arrangeRules } from "./rule.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";

const settings = (given: Partial<CaptureSettings>): CaptureSettings => ({ ...DEFAULT_SETTINGS, ...given });

/** Restore lines of one table and family. */
function lines(given: Partial<CaptureSettings>, table: string, family: "v4" | "v6" = "v4"): readonly string[] {
  const program = family === "v4" ? "iptables-restore" : "ip6tables-restore";
  const text = restoreInputs(settings(given)).find((input) => input.program === program)?.text ?? "";
  const [, block = ""] = text.split(`* ${table}\n`);
  return block.split("COMMIT")[0]?.trim().split("\n") ?? [];
}

/** A chain in the order packets meet it. */
function chain(given: Partial<CaptureSettings>, place: string): readonly string[] {
  const rules = arrangeRules(buildRules(settings(given)), "v4").get(place) ?? [];
  return toIptables(rules, "v4").map((rule) => rule.params.join(" "));
}

test("mode NONE writes nothing", () => {
  expect(buildRules(settings({ interceptionMode: "NONE", inboundPortsInclude: "*" }))).toEqual([]);
});

test("invalid packets are dropped in a chain of its own, in 1.20 directly", () => {
  expect(lines({ dropInvalid: true }, "mangle")).toEqual([
    "-N ISTIO_DROP",
    "-A PREROUTING -m conntrack --ctstate INVALID -j ISTIO_DROP",
    "-A ISTIO_DROP -j DROP",
  ]);
  expect(lines({ dropInvalid: true, generation: "1.20" }, "mangle")).toEqual([
    "-A PREROUTING -m conntrack --ctstate INVALID -j DROP",
  ]);
  const nft = nftTransaction(toNft(buildRules(settings({ dropInvalid: true }))));
  expect(nft).toContain(
    "add rule inet istio-proxy-mangle prerouting meta l4proto tcp ct state invalid counter jump istio-drop",
  );
});

test("a loopback network in the include list drops the loopback exemption", () => {
  const given = { outboundIpRangesInclude: "127.1.2.3/32" };
  expect(chain(given, "nat/ISTIO_OUTPUT").filter((rule) => rule.includes("! --uid-owner"))).toEqual([]);
});

test("virtual interfaces: the last listed ends on top, redirects above returns", () => {
  expect(chain({ virtualInterfaces: "eth1,eth2", outboundIpRangesInclude: "10.0.0.0/8" }, "nat/PREROUTING")).toEqual([
    "-i eth2 -d 10.0.0.0/8 -j ISTIO_REDIRECT",
    "-i eth1 -d 10.0.0.0/8 -j ISTIO_REDIRECT",
    "-i eth2 -j RETURN",
    "-i eth1 -j RETURN",
  ]);
});

test("the order of outbound decisions is ports, passthrough, owners, groups, DNS, localhost, excluded, included", () => {
  const given = {
    outboundPortsExclude: "1",
    ownerGroupsExclude: "888",
    redirectDns: true,
    captureAllDns: true,
    outboundIpRangesExclude: "1.1.0.0/16",
    outboundPortsInclude: "2",
    outboundIpRangesInclude: "*",
  };
  expect(chain(given, "nat/ISTIO_OUTPUT")).toEqual([
    "-p tcp --dport 1 -j RETURN",
    "-p udp --dport 1 -j RETURN",
    "-o lo -s 127.0.0.6/32 -j RETURN",
    "-o lo ! -d 127.0.0.1/32 -p tcp -m multiport ! --dports 53,15008 -m owner --uid-owner 1337 -j ISTIO_IN_REDIRECT",
    "-o lo -p tcp ! --dport 53 -m owner ! --uid-owner 1337 -j RETURN",
    "-m owner --uid-owner 1337 -j RETURN",
    "-o lo ! -d 127.0.0.1/32 -p tcp ! --dport 15008 -m owner --gid-owner 1337 -j ISTIO_IN_REDIRECT",
    "-o lo -p tcp ! --dport 53 -m owner ! --gid-owner 1337 -j RETURN",
    "-m owner --gid-owner 1337 -j RETURN",
    "-m owner --gid-owner 888 -j RETURN",
    "-j ISTIO_OUTPUT_DNS",
    "-d 127.0.0.1/32 -j RETURN",
    "-d 1.1.0.0/16 -j RETURN",
    "-p tcp --dport 2 -j ISTIO_REDIRECT",
    "-j ISTIO_REDIRECT",
  ]);
});

test("an empty list of included groups captures no process", () => {
  expect(chain({ ownerGroupsInclude: "" }, "nat/ISTIO_OUTPUT")).toContain("-j RETURN");
});

test("resolvers of one IP version only: the other gets zones for owners but no redirect", () => {
  const given = { redirectDns: true, ipv6: true, dnsServersV6: ["fd00::a"] };
  expect(lines(given, "nat", "v4")).not.toContain("-A ISTIO_OUTPUT -j ISTIO_OUTPUT_DNS");
  expect(lines(given, "nat", "v6")).toContain(
    "-A ISTIO_OUTPUT_DNS -p udp --dport 53 -d fd00::a/128 -j REDIRECT --to-port 15053",
  );
  expect(lines(given, "raw", "v4")).toContain("-A OUTPUT -j ISTIO_OUTPUT_DNS");
  expect(lines(given, "raw", "v4")).not.toContain("-A PREROUTING -j ISTIO_INBOUND");
});

test("trace logging puts the twin above its rule, appended or inserted", () => {
  const given = { traceLogging: true, virtualInterfaces: "eth1", inboundPortsInclude: "80" };
  const log = (id: string) => `-j NFLOG --nflog-prefix "${id}" --nflog-group 1337 --nflog-size 20`;
  expect(chain(given, "nat/PREROUTING")).toEqual([
    `-i eth1 ${log("KubevirtCommand")}`,
    "-i eth1 -j RETURN",
    `-p tcp ${log("JumpInbound")}`,
    "-p tcp -j ISTIO_INBOUND",
  ]);
  expect(chain(given, "nat/ISTIO_INBOUND")).toContain(`-p tcp --dport 80 ${log("IncludeInboundPort")}`);
  const nft = nftTransaction(toNft(buildRules(settings(given)))).join("\n");
  expect(nft).toContain('prerouting meta l4proto tcp log prefix "JumpInbound" group 1337 snaplen 20');
});

test("1.7 redirects TPROXY to the outbound port, exempts 22 and masks networks", () => {
  const given = {
    generation: "1.7",
    interceptionMode: "TPROXY",
    inboundPortsInclude: "*",
    outboundIpRangesInclude: "10.1.2.3/8",
  } as const;
  expect(lines(given, "mangle")).toContain(
    "-A ISTIO_TPROXY ! -d 127.0.0.1/32 -p tcp -j TPROXY --tproxy-mark 1337/0xffffffff --on-port 15001",
  );
  expect(lines(given, "mangle").indexOf("-A ISTIO_INBOUND -p tcp --dport 22 -j RETURN")).toBeGreaterThan(0);
  expect(lines(given, "mangle").at(-1)).toBe(
    "-A OUTPUT -p tcp -s 127.0.0.1/32 ! -d 127.0.0.1/32 -j MARK --set-mark 1337",
  );
  expect(lines(given, "nat").slice(-2)).toEqual([
    "-A ISTIO_OUTPUT -d 10.0.0.0/8 -j ISTIO_REDIRECT",
    "-A ISTIO_OUTPUT -j RETURN",
  ]);
});

test("1.7 sends DNS to one port and never over IPv6, where TPROXY is a redirect", () => {
  const given = {
    generation: "1.7",
    dnsTargetPort: "15013",
    ipv6: true,
    interceptionMode: "TPROXY",
    inboundPortsInclude: "80",
  } as const;
  expect(lines(given, "nat")).toEqual(
    expect.arrayContaining([
      "-A OUTPUT -p udp --dport 53 -m owner --uid-owner 1337 -j RETURN",
      "-A OUTPUT -p udp --dport 53 -j DNAT --to-destination 127.0.0.1:15013",
      "-A POSTROUTING -p udp --dport 15013 -j SNAT --to-source 127.0.0.1",
    ]),
  );
  expect(lines(given, "nat", "v6").join("\n")).not.toContain("udp");
  expect(lines(given, "nat", "v6")).toContain("-A ISTIO_INBOUND -p tcp --dport 80 -j ISTIO_IN_REDIRECT");
});

test("1.7 returns IPv6 packets of virtual interfaces where later generations redirect them", () => {
  const given = { ipv6: true, virtualInterfaces: "eth1", outboundIpRangesInclude: "*" };
  expect(lines({ ...given, generation: "1.7" }, "nat", "v6")).toContain("-I PREROUTING 1 -i eth1 -j RETURN");
  expect(lines(given, "nat", "v6")).toContain("-I PREROUTING 1 -i eth1 -j ISTIO_REDIRECT");
});

test("nft spells ranges, wildcards and strange names in its own way", () => {
  const rules = buildRules(settings({ inboundPortsInclude: "8000:8100", excludeInterfaces: "tap+,1net" }));
  const text = nftTransaction(toNft(rules)).join("\n");
  expect(text).toContain("tcp dport 8000-8100 counter");
  expect(text).toContain("iifname tap* counter return");
  expect(text).toContain('iifname "1net" counter return');
});
