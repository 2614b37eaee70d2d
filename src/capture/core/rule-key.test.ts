import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_NAMES } from "../../../test/support/capture/owner-names.ts";
import { toIptables } from "./iptables-args.ts";
import { parseIptablesRule, splitWords } from "./parse-iptables-rule.ts";
import type { Match, Rule, Target } from "./rule.ts";
import { ruleKey } from "./rule-key.ts";

const key = (line: string, names = NO_NAMES) => ruleKey(parseIptablesRule(line), names);

describe("two spellings of one rule have one key", () => {
  test.each([
    ["-A X -p tcp --dport 80 -j RETURN", "-A X -p tcp -m tcp --dport 80 -j RETURN"],
    ["-A X -o lo ! -d 127.0.0.1/32 -p tcp -j RETURN", "-A X ! -d 127.0.0.1/32 -o lo -p tcp -j RETURN"],
    ["-A X -d 10.1.2.3/8 -j RETURN", "-A X -d 10.0.0.0/8 -j RETURN"],
    ["-A X -d 0.0.0.0/0 -j RETURN", "-A X -j RETURN"],
    ["-A X -p tcp --dport 0:65535 -j RETURN", "-A X -p tcp -j RETURN"],
    ["-A X -d 10.0.0.1 -j RETURN", "-A X -d 10.0.0.1/32 -j RETURN"],
    ["-A X -m mark --mark 1337 -j RETURN", "-A X -m mark --mark 0x539 -j RETURN"],
    ["-A X -j MARK --set-mark 1337", "-A X -j MARK --set-xmark 0x539/0xffffffff"],
    ["-A X -j CONNMARK --save-mark", "-A X -j CONNMARK --save-mark --nfmask 0xffffffff --ctmask 0xffffffff"],
    ["-A X -p udp --dport 53 -j REDIRECT --to-port 1", "-A X -p udp -m udp --dport 53 -j REDIRECT --to-ports 1"],
    [
      "-A X -p tcp -j TPROXY --tproxy-mark 1337/0xffffffff --on-port 15006",
      "-A X -p tcp -j TPROXY --on-port 15006 --on-ip 0.0.0.0 --tproxy-mark 0x539/0xffffffff",
    ],
    [
      '-A X -j NFLOG --nflog-prefix "A" --nflog-group 1337',
      "-A X -j NFLOG --nflog-prefix A --nflog-group 1337 --nflog-size 20",
    ],
    ["-A X -m conntrack --ctstate RELATED,ESTABLISHED -j Y", "-A X -m conntrack --ctstate ESTABLISHED,RELATED -j Y"],
  ])("%s and %s", (one, other) => expect(key(one)).toBe(key(other)));
});

test.each([
  ["-A X -d 10.0.0.0/8 -j RETURN", "-A X ! -d 10.0.0.0/8 -j RETURN"],
  ["-A X -p tcp --dport 80 -j RETURN", "-A X -p udp --dport 80 -j RETURN"],
  ["-A X -m mark --mark 1 -j RETURN", "-A X -m connmark --mark 1 -j RETURN"],
  ["-A X -m comment --comment hello -j RETURN", "-A X -j RETURN"],
  ["-A X -p sctp -j RETURN", "-A X -j RETURN"],
  ["-A X -j LOG --log-prefix a", "-A X -j LOG --log-prefix b"],
])("%s and %s differ", (one, other) => expect(key(one)).not.toBe(key(other)));

test("owner names are compared by number", () => {
  const names = { users: new Map(), groups: new Map([["java", "2001"]]) };
  expect(key("-A X -m owner --gid-owner java -j RETURN", names)).toBe(key("-A X -m owner --gid-owner 2001 -j RETURN"));
});

test("words keep what quotes hold together", () => {
  expect(splitWords('-A X -m comment --comment "a \\" b" -j Y')).toEqual([
    "-A",
    "X",
    "-m",
    "comment",
    "--comment",
    'a \\" b',
    "-j",
    "Y",
  ]);
});

const port = fc.integer({ min: 1, max: 65535 }).map(String);
const not = fc.boolean();
const match: fc.Arbitrary<Match> = fc.oneof(
  fc.record({ kind: fc.constantFrom("in" as const, "out" as const), name: fc.constantFrom("lo", "eth0"), not }),
  fc.record({
    kind: fc.constantFrom("source" as const, "destination" as const),
    cidr: fc.constantFrom("10.0.0.0/8", "127.0.0.1/32"),
    not,
  }),
  fc.record({
    kind: fc.constantFrom("dport" as const, "sport" as const),
    ports: fc.array(port, { minLength: 1, maxLength: 3 }),
    not,
  }),
  fc.record({ kind: fc.constantFrom("uid" as const, "gid" as const), id: fc.constantFrom("0", "1337"), not }),
  fc.record({
    kind: fc.constantFrom("mark" as const, "connmark" as const),
    value: fc.constantFrom("1337", "1338"),
    not,
  }),
  fc.constant<Match>({ kind: "ctstate", states: ["INVALID"] }),
  fc.constant<Match>({ kind: "protocol", protocol: "tcp" }),
);
const target: fc.Arbitrary<Target> = fc.oneof(
  fc.record({ kind: fc.constant("jump" as const), chain: fc.constantFrom("ISTIO_A", "OTHER") }),
  fc.record({
    kind: fc.constantFrom(
      "return" as const,
      "accept" as const,
      "drop" as const,
      "save-mark" as const,
      "restore-mark" as const,
    ),
  }),
  fc.record({ kind: fc.constant("redirect" as const), port }),
  fc.record({ kind: fc.constant("tproxy" as const), port, mark: fc.constant("1337") }),
  fc.record({ kind: fc.constant("set-mark" as const), value: fc.constant("1338") }),
  fc.record({ kind: fc.constant("zone" as const), zone: fc.constantFrom("1", "2") }),
  fc.record({ kind: fc.constant("dnat" as const), to: fc.constant("127.0.0.1:15053") }),
  fc.record({ kind: fc.constant("log" as const), prefix: fc.constant("JumpInbound") }),
);

test("a printed rule is read back with the same meaning", () => {
  fc.assert(
    fc.property(fc.uniqueArray(match, { selector: (each) => each.kind, maxLength: 5 }), target, (matches, to) => {
      const rule: Rule = { table: "nat", chain: "X", family: "any", matches, target: to };
      const [printed] = toIptables([rule], "v4");
      expect(key(`-A X ${printed?.params.join(" ")}`)).toBe(ruleKey(rule, NO_NAMES));
    }),
  );
});

test("any line is read without a throw", () => {
  fc.assert(fc.property(fc.string(), (line) => void key(`-A X ${line}`)));
});
