import { expect, test } from "vitest";
import { NO_NAMES } from "../../../test/support/capture/owner-names.ts";
import { buildRules } from "./build-rules.ts";
import { explainCapture, explainPacket } from "./explain.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";

function input(given: Partial<CaptureSettings>) {
  const settings = { ...DEFAULT_SETTINGS, hostIp: "10.0.0.10", ...given };
  return { settings, rules: buildRules(settings), names: NO_NAMES, localAddresses: [] };
}

const ALL = {
  inboundPortsInclude: "*",
  inboundPortsExclude: "15090",
  outboundIpRangesInclude: "*",
  outboundIpRangesExclude: "1.1.0.0/16",
};

/** The cell of the table for one kind of traffic. */
function outcome(given: Partial<CaptureSettings>, title: string): string {
  const line = explainCapture(input(given))
    .split("\n")
    .find((text) => text.startsWith(`${title}  `));
  return line?.split(/\s{2,}/)[2] ?? "no such line";
}

test.each([
  { title: "inbound to port 8080", says: "to Envoy (inbound) on port 15006" },
  { title: "inbound to port 15090", says: "goes its own way, not captured" },
  { title: "inbound to port 15008", says: "goes its own way, not captured" },
  { title: "outbound, application", says: "to Envoy (outbound) on port 15001" },
  { title: "outbound, proxy", says: "goes its own way, not captured" },
  { title: "outbound to excluded 1.1.0.0/16", says: "goes its own way, not captured" },
  { title: "proxy to its own pod (self-call)", says: "to Envoy (inbound) on port 15006" },
  { title: "application to localhost", says: "goes its own way, not captured" },
  { title: "UDP out", says: "goes its own way, not captured" },
  { title: "ICMP in", says: "goes its own way, not captured" },
])("$title: $says", ({ title, says }) => expect(outcome(ALL, title)).toBe(says));

test("DNS has lines for the resolver, for others and for the agent", () => {
  const dns = { ...ALL, redirectDns: true, dnsServersV4: ["10.96.0.10"] };
  expect(outcome(dns, "DNS over UDP to the resolver")).toBe("to the agent's DNS server on port 15053");
  expect(outcome(dns, "DNS by the agent to the resolver")).toBe("goes its own way, not captured");
  expect(explainCapture(input(dns))).toContain(
    "DNS: UDP and TCP to port 53 of 10.96.0.10 goes to the agent on port 15053.",
  );
});

test("words follow the settings", () => {
  const text = explainCapture(
    input({
      ...ALL,
      interceptionMode: "TPROXY",
      ipv6: true,
      outboundPortsExclude: "22",
      excludeInterfaces: "eth1",
      dropInvalid: true,
      ownerGroupsInclude: "java",
    }),
  );
  expect(text).toContain("Backend: iptables, IPv4 and IPv6, rules of generation master.");
  expect(text).toContain(
    "all TCP except to ports 15090 goes to Envoy on port 15006 by TPROXY, which keeps the client's address",
  );
  expect(text).toContain("but never to 1.1.0.0/16, ports 22");
  expect(text).toContain("nor that of any group but java");
  expect(text).toContain("Interfaces eth1: bypassed in both directions.");
  expect(text).toContain("to Envoy on port 15006, addresses unchanged (TPROXY)");
  expect(explainCapture(input({}))).toContain("Inbound: nothing is captured");
  expect(explainCapture(input({ interceptionMode: "NONE" }))).toContain("nothing is captured, no rules are written");
  expect(explainCapture(input({ generation: "1.7", dnsTargetPort: "15013" }))).toContain(
    "all UDP to port 53 goes to 127.0.0.1:15013",
  );
});

test("one packet shows the way it takes and the rule that decides", () => {
  expect(explainPacket(input(ALL), "tcp 10.0.0.10:40000 -> 10.1.2.3:443 uid 1000")).toBe(
    `Packet    tcp 10.0.0.10:40000 -> 10.1.2.3:443 uid 1000 out eth0
Matches   nat OUTPUT rule 1: -j ISTIO_OUTPUT
          nat ISTIO_OUTPUT rule 10: -j ISTIO_REDIRECT
          nat ISTIO_REDIRECT rule 1: -p tcp -j REDIRECT --to-ports 15001
Fate      to Envoy (outbound) on port 15001
Decided   nat ISTIO_REDIRECT rule 1: -p tcp -j REDIRECT --to-ports 15001
`,
  );
});

test("with nftables the rules are shown in its words", () => {
  const text = explainPacket(input({ ...ALL, nativeNftables: true }), "tcp 10.0.0.10:1 -> 10.1.2.3:443 uid 1337");
  expect(text).toContain("Decided   istio-proxy-nat istio-output rule 4: skuid 1337 counter return");
});

test("zone and mark are shown where a packet gets them", () => {
  const dns = { redirectDns: true, captureAllDns: true };
  expect(explainPacket(input(dns), "udp 10.0.0.10:1 -> 8.8.8.8:53 uid 1")).toContain("Zone      conntrack zone 2");
  const tproxy = { interceptionMode: "TPROXY", inboundPortsInclude: "*" };
  expect(explainPacket(input(tproxy), "tcp 9.9.9.9:1 -> 10.0.0.10:80 in eth0")).toContain("Mark      1337");
});
