import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_NAMES } from "../../../test/support/capture/owner-names.ts";
import { toIptables } from "./iptables-args.ts";
import { parseIptablesRule, splitWords } from "./parse-iptables-rule.ts";
import type { Match, Rule, Target } from "./rule.ts";
import { ruleKey } from "./rule-key.ts";

const matchesOf = (words: string) => parseIptablesRule(`-A ISTIO_INBOUND ${words} -j RETURN`).matches;
const targetOf = (words: string) => parseIptablesRule(`-A ISTIO_INBOUND -j ${words}`).target;

describe("conditions", () => {
  test.each<{ words: string; matches: readonly Match[] }>([
    { words: "-p tcp", matches: [{ kind: "protocol", protocol: "tcp" }] },
    { words: "-i eth0", matches: [{ kind: "in", name: "eth0" }] },
    { words: "! -o lo", matches: [{ kind: "out", name: "lo", not: true }] },
    { words: "-s 127.0.0.6/32", matches: [{ kind: "source", cidr: "127.0.0.6/32" }] },
    { words: "! -d 127.0.0.1/32", matches: [{ kind: "destination", cidr: "127.0.0.1/32", not: true }] },
    {
      words: "-p udp -m udp --dport 53",
      matches: [
        { kind: "protocol", protocol: "udp" },
        { kind: "dport", ports: ["53"] },
      ],
    },
    {
      words: "-p tcp -m multiport ! --dports 53,15008",
      matches: [
        { kind: "protocol", protocol: "tcp" },
        { kind: "dport", ports: ["53", "15008"], not: true },
      ],
    },
    { words: "--sport 1000:2000", matches: [{ kind: "sport", ports: ["1000:2000"] }] },
    { words: "-m owner --uid-owner 1337", matches: [{ kind: "uid", id: "1337" }] },
    { words: "-m owner ! --gid-owner root", matches: [{ kind: "gid", id: "root", not: true }] },
    {
      words: "-m conntrack --ctstate RELATED,ESTABLISHED",
      matches: [{ kind: "ctstate", states: ["RELATED", "ESTABLISHED"] }],
    },
    { words: "-m mark --mark 0x539", matches: [{ kind: "mark", value: "0x539" }] },
    { words: "-m connmark ! --mark 0x539", matches: [{ kind: "connmark", value: "0x539", not: true }] },
    { words: "-m mark --mark 0x1/0xf", matches: [{ kind: "mark", value: "0x1/0xf" }] },
  ])("$words", ({ words, matches }) => {
    expect(matchesOf(words)).toEqual(matches);
  });

  test.each([
    { words: "-p icmp", text: "-p icmp" },
    { words: "! -p tcp", text: "! -p tcp" },
    { words: "! -p icmp", text: "! -p icmp" },
    { words: '-m comment --comment "by hand"', text: "--comment by hand" },
    { words: "-m set ! --match-set blocked src", text: "! --match-set blocked src" },
    { words: "-m recent --mark 1", text: "--mark 1" },
  ])("$words of others stays what it is", ({ words, text }) => {
    expect(matchesOf(words)).toEqual([{ kind: "other", text }]);
  });

  test("of others beside known ones keep the rule from being one of ours", () => {
    const own = parseIptablesRule("-A ISTIO_INBOUND -p tcp -j RETURN");
    const others = parseIptablesRule("-A ISTIO_INBOUND -p tcp -m statistic --mode random -j RETURN");
    expect(others.matches[0]).toEqual({ kind: "protocol", protocol: "tcp" });
    expect(ruleKey(others, NO_NAMES)).not.toBe(ruleKey(own, NO_NAMES));
  });

  test.each(["! -p tcp", "! -p udp"])("%s is not the protocol itself", (words) => {
    const [negated, plain] = [words, words.slice(2)].map((text) => parseIptablesRule(`-A X ${text} -j RETURN`));
    expect(negated && ruleKey(negated, NO_NAMES)).not.toBe(plain && ruleKey(plain, NO_NAMES));
  });

  test("no port at all is not every port", () => {
    const [none, every] = ["! --dport 0:65535", "--dport 0:65535"].map((text) =>
      ruleKey({ matches: matchesOf(text), target: { kind: "return" } }, NO_NAMES),
    );
    expect(none).not.toBe(every);
  });
});

describe("targets", () => {
  test.each<{ words: string; target: Target }>([
    { words: "ACCEPT", target: { kind: "accept" } },
    { words: "DROP", target: { kind: "drop" } },
    { words: "ISTIO_REDIRECT", target: { kind: "jump", chain: "ISTIO_REDIRECT" } },
    { words: "REDIRECT --to-ports 15001", target: { kind: "redirect", port: "15001" } },
    { words: "REDIRECT --to-port 15053", target: { kind: "redirect", port: "15053" } },
    {
      words: "TPROXY --on-port 15006 --on-ip 0.0.0.0 --tproxy-mark 0x539/0xffffffff",
      target: { kind: "tproxy", port: "15006", mark: "0x539" },
    },
    { words: "MARK --set-xmark 0x539/0xffffffff", target: { kind: "set-mark", value: "0x539" } },
    { words: "MARK --set-mark 1337", target: { kind: "set-mark", value: "1337" } },
    { words: "CONNMARK --save-mark --nfmask 0xffffffff", target: { kind: "save-mark" } },
    { words: "CONNMARK --restore-mark", target: { kind: "restore-mark" } },
    { words: "CT --zone 1", target: { kind: "zone", zone: "1" } },
    { words: "DNAT --to-destination 127.0.0.1:15053", target: { kind: "dnat", to: "127.0.0.1:15053" } },
    { words: "SNAT --to-source 127.0.0.6", target: { kind: "snat", to: "127.0.0.6" } },
    { words: 'NFLOG --nflog-prefix "JumpInbound" --nflog-group 1337', target: { kind: "log", prefix: "JumpInbound" } },
  ])("$words", ({ words, target }) => {
    expect(targetOf(words)).toEqual(target);
  });

  test.each(["NFLOG --nflog-group 5", "CT --notrack x", "CONNMARK --set-mark 5", "REJECT --reject-with tcp-reset"])(
    "%s of others stays what it is",
    (words) => {
      expect(targetOf(words)).toMatchObject({
        kind: "other",
        text: expect.stringContaining(words.split(" ")[0] ?? ""),
      });
    },
  );

  test("a rule without one only counts", () => {
    expect(parseIptablesRule("-A INPUT -p tcp").target).toEqual({ kind: "other", text: "" });
  });
});

test.each([
  { line: "-A X -j Y", words: ["-A", "X", "-j", "Y"] },
  { line: '--comment "two words" -j Y', words: ["--comment", "two words", "-j", "Y"] },
  { line: '--comment "" -j', words: ["--comment", "", "-j"] },
  { line: "  -A   X ", words: ["-A", "X"] },
])("words of $line", ({ line, words }) => {
  expect(splitWords(line)).toEqual(words);
});

test("the line and the chain are unchanged", () => {
  const line = "-A ISTIO_OUTPUT -s 127.0.0.6/32 -o lo -j RETURN";
  expect(parseIptablesRule(line)).toMatchObject({ line, chain: "ISTIO_OUTPUT" });
});

const not = fc.constantFrom({}, { not: true });
const port = fc.integer({ min: 1, max: 65_534 }).map(String);
const anyMatch: fc.Arbitrary<Match> = fc.oneof(
  fc.constantFrom<Match>({ kind: "protocol", protocol: "tcp" }, { kind: "protocol", protocol: "udp" }),
  fc
    .tuple(fc.constantFrom("in", "out"), fc.stringMatching(/^[a-z][a-z0-9]{0,8}\+?$/), not)
    .map(([kind, name, negation]) => ({ kind, name, ...negation }) as Match),
  fc
    .tuple(fc.constantFrom("source", "destination"), fc.ipV4(), fc.integer({ min: 1, max: 32 }), not)
    .map(([kind, address, bits, negation]) => ({ kind, cidr: `${address}/${bits}`, ...negation }) as Match),
  fc
    .tuple(fc.constantFrom("dport", "sport"), fc.array(port, { minLength: 1, maxLength: 15 }), not)
    .map(([kind, ports, negation]) => ({ kind, ports, ...negation }) as Match),
  fc
    .tuple(fc.constantFrom("uid", "gid"), fc.nat().map(String), not)
    .map(([kind, id, negation]) => ({ kind, id, ...negation }) as Match),
  fc
    .tuple(fc.constantFrom("mark", "connmark"), fc.nat().map(String), not)
    .map(([kind, value, negation]) => ({ kind, value, ...negation }) as Match),
);
const anyTarget: fc.Arbitrary<Target> = fc.oneof(
  fc.constantFrom<Target>(
    { kind: "return" },
    { kind: "accept" },
    { kind: "drop" },
    { kind: "save-mark" },
    { kind: "restore-mark" },
  ),
  port.map((text): Target => ({ kind: "redirect", port: text })),
  fc.tuple(port, port).map(([text, mark]): Target => ({ kind: "tproxy", port: text, mark })),
  fc.stringMatching(/^ISTIO_[A-Z_]{1,20}$/).map((chain): Target => ({ kind: "jump", chain })),
  port.map((value): Target => ({ kind: "set-mark", value })),
  port.map((zone): Target => ({ kind: "zone", zone })),
  fc.stringMatching(/^[A-Za-z]{1,20}$/).map((prefix): Target => ({ kind: "log", prefix })),
);

test("whatever we write means the same when it is read back", () => {
  fc.assert(
    fc.property(fc.array(anyMatch, { maxLength: 5 }), anyTarget, (matches, target) => {
      const rule: Rule = { table: "nat", chain: "ISTIO_X", family: "any", matches, target };
      const [written] = toIptables([rule], "v4");
      const read = parseIptablesRule(`-A ISTIO_X ${written?.params.join(" ")}`);
      expect(ruleKey(read, NO_NAMES)).toBe(ruleKey(rule, NO_NAMES));
    }),
  );
});
