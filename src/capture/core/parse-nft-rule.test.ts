import { describe, expect, test } from "vitest";
import { NO_NAMES } from "../../../test/support/capture/owner-names.ts";
import { nftRuleKey, parseNftTable } from "./parse-nft-rule.ts";
import type { Match, Rule, Target } from "./rule.ts";

const meta = (key: string, right: unknown, op = "==") => ({ match: { op, left: { meta: { key } }, right } });
const ct = (key: string, right: unknown, op = "==") => ({ match: { op, left: { ct: { key } }, right } });
const payload = (protocol: string, field: string, right: unknown, op = "==") => ({
  match: { op, left: { payload: { protocol, field } }, right },
});
const COUNTER = { counter: { packets: 1, bytes: 2 } };

function keyOf(...expr: readonly unknown[]): string | undefined {
  const listing = { nftables: [{ metainfo: {} }, { chain: { name: "c" } }, { rule: { chain: "c", expr } }] };
  return parseNftTable(JSON.stringify(listing))?.keys.get("c")?.[0];
}

function ours(matches: readonly Match[], target: Target): string {
  const rule: Rule = { table: "nat", chain: "C", family: "any", matches, target };
  return nftRuleKey(rule, NO_NAMES);
}

describe("a listed rule equals the rule it was made from", () => {
  const tcp: Match = { kind: "protocol", protocol: "tcp" };
  const done: Target = { kind: "return" };
  test.each([
    {
      name: "ports",
      listed: [payload("tcp", "dport", 15008), COUNTER, { return: null }],
      rule: ours([tcp, { kind: "dport", ports: ["15008"] }], done),
    },
    {
      name: "port sets and negation",
      listed: [
        payload("tcp", "dport", { set: [53, 15008] }, "!="),
        meta("skuid", 3),
        COUNTER,
        { jump: { target: "istio-x" } },
      ],
      rule: ours([tcp, { kind: "dport", ports: ["53", "15008"], not: true }, { kind: "uid", id: "3" }], {
        kind: "jump",
        chain: "ISTIO_X",
      }),
    },
    {
      name: "ranges",
      listed: [payload("tcp", "dport", { range: [80, 90] }), { return: null }],
      rule: ours([tcp, { kind: "dport", ports: ["80:90"] }], done),
    },
    {
      name: "prefixes",
      listed: [
        meta("iifname", "tap*"),
        payload("ip", "daddr", { prefix: { addr: "10.0.0.0", len: 8 } }, "!="),
        { return: null },
      ],
      rule: ours(
        [
          { kind: "in", name: "tap+" },
          { kind: "destination", cidr: "10.0.0.0/8", not: true },
        ],
        done,
      ),
    },
    {
      name: "hosts",
      listed: [meta("oifname", "lo"), payload("ip6", "saddr", "::6"), { return: null }],
      rule: ours(
        [
          { kind: "out", name: "lo" },
          { kind: "source", cidr: "::6/128" },
        ],
        done,
      ),
    },
    {
      name: "states",
      listed: [meta("l4proto", "tcp"), ct("state", ["established", "related"], "in"), { accept: null }],
      rule: ours([tcp, { kind: "ctstate", states: ["RELATED", "ESTABLISHED"] }], { kind: "accept" }),
    },
    {
      name: "marks",
      listed: [
        meta("l4proto", "tcp"),
        meta("mark", 1337),
        { mangle: { key: { ct: { key: "mark" } }, value: { meta: { key: "mark" } } } },
      ],
      rule: ours([tcp, { kind: "mark", value: "1337" }], { kind: "save-mark" }),
    },
    {
      name: "connection marks",
      listed: [ct("mark", 1337), { mangle: { key: { meta: { key: "mark" } }, value: { ct: { key: "mark" } } } }],
      rule: ours([{ kind: "connmark", value: "1337" }], { kind: "restore-mark" }),
    },
    {
      name: "tproxy",
      listed: [
        meta("l4proto", "tcp"),
        { tproxy: { family: "ip", port: 15006 } },
        { mangle: { key: { meta: { key: "mark" } }, value: 1337 } },
        COUNTER,
        { accept: null },
      ],
      rule: ours([tcp], { kind: "tproxy", port: "15006", mark: "1337" }),
    },
    {
      name: "redirects",
      listed: [meta("l4proto", "tcp"), { redirect: { port: 15001 } }],
      rule: ours([tcp], { kind: "redirect", port: "15001" }),
    },
    {
      name: "zones",
      listed: [payload("udp", "dport", 53), meta("skgid", 1), { mangle: { key: { ct: { key: "zone" } }, value: 1 } }],
      rule: ours(
        [
          { kind: "protocol", protocol: "udp" },
          { kind: "dport", ports: ["53"] },
          { kind: "gid", id: "1" },
        ],
        { kind: "zone", zone: "1" },
      ),
    },
    {
      name: "logs",
      listed: [meta("l4proto", "tcp"), { log: { prefix: "JumpInbound", group: 1337 } }],
      rule: ours([tcp], { kind: "log", prefix: "JumpInbound" }),
    },
    {
      name: "translations",
      listed: [payload("udp", "dport", 53), { dnat: { family: "ip", addr: "127.0.0.1", port: 15053 } }],
      rule: ours(
        [
          { kind: "protocol", protocol: "udp" },
          { kind: "dport", ports: ["53"] },
        ],
        { kind: "dnat", to: "127.0.0.1:15053" },
      ),
    },
  ])("$name", ({ listed, rule }) => expect(keyOf(...listed)).toBe(rule));
});

test("conditions and statements of others equal none of ours", () => {
  expect(keyOf(payload("ip", "ttl", 1), { return: null })).toContain("other");
  expect(keyOf({ queue: { num: 1 } })).toContain("other");
});

test.each(["tcp", "udp"])("everything but %s is not that protocol", (protocol) => {
  expect(keyOf(meta("l4proto", protocol, "!="), { return: null })).toContain("other");
  expect(keyOf(meta("l4proto", protocol), { return: null })).not.toContain("other");
});

test("chains, marks and the lack of a listing are seen", () => {
  const rules = [{ rule: { chain: "c", expr: [{ mangle: { key: { meta: { key: "mark" } }, value: 99 } }] } }];
  const state = parseNftTable(
    JSON.stringify({ nftables: [{ chain: { name: "c" } }, { chain: { name: "d" } }, ...rules] }),
  );
  expect(state).toMatchObject({ chains: ["c", "d"], marks: new Set([99]) });
  expect(parseNftTable("Error: syntax")).toBeUndefined();
  expect(parseNftTable("[]")).toBeUndefined();
});
