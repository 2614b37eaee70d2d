import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_NAMES } from "../../../test/support/capture/owner-names.ts";
import { buildRules } from "./build-rules.ts";
import { GENERATION_SHAPES } from "./generations.ts";
import { type KernelState, parseKernelState } from "./kernel-state.ts";
import { type CaptureSettings, DEFAULT_SETTINGS } from "./settings.ts";
import { planTables, type TablePlan, transactionText } from "./transaction.ts";

const settings = (given: Partial<CaptureSettings>): CaptureSettings => ({ ...DEFAULT_SETTINGS, ...given });

function plan(
  given: Partial<CaptureSettings>,
  state: string | KernelState,
  known?: Partial<CaptureSettings>,
): readonly TablePlan[] {
  return planTables({
    rules: given.interceptionMode === "NONE" ? [] : buildRules(settings(given)),
    ...(known === undefined ? {} : { known: buildRules(settings(known)) }),
    family: "v4",
    state: typeof state === "string" ? parseKernelState(state) : state,
    shape: GENERATION_SHAPES[given.generation ?? "master"],
    names: NO_NAMES,
  });
}

/** What the kernel would list after these lines: enough of iptables-restore to check plans without a kernel. */
function apply(listing: string, text: string): string {
  const tables = new Map<string, Map<string, string[]>>();
  let table = new Map<string, string[]>();
  for (const line of `${listing}\n${text}`.split("\n")) {
    const [action = "", chain = "", ...rest] = line.split(" ");
    if (line.startsWith("*")) {
      const name = line.slice(1).trim();
      table = tables.get(name) ?? new Map(["PREROUTING", "OUTPUT", "POSTROUTING"].map((each) => [each, []]));
      tables.set(name, table);
    } else if (line.startsWith(":")) {
      const name = line.slice(1).split(" ")[0] ?? "";
      if (!table.has(name)) table.set(name, []);
    } else if (action === "-N") table.set(chain, []);
    else if (action === "-A") table.get(chain)?.push(rest.join(" "));
    else if (action === "-I") table.get(chain)?.splice(Number(rest[0]) - 1, 0, rest.slice(1).join(" "));
    else if (action === "-F") table.get(chain)?.splice(0);
    else if (action === "-X") table.delete(chain);
    else if (action === "-D") {
      const rules = table.get(chain) ?? [];
      const at = rules.indexOf(rest.join(" "));
      if (at === -1) throw new Error(`no such rule: ${line}`);
      rules.splice(at, 1);
    }
  }
  return [...tables]
    .map(([name, chains]) =>
      [
        `*${name}`,
        ...[...chains.keys()].map((each) => `:${each} -`),
        ...[...chains].flatMap(([each, rules]) => rules.map((rule) => `-A ${each} ${rule}`)),
      ].join("\n"),
    )
    .join("\n");
}

const canonical = (listing: string) =>
  listing
    .split("\n")
    .filter((line) => line.startsWith("-A") || line.startsWith(":ISTIO"))
    .sort()
    .join("\n");

const STRANGERS =
  "*nat\n:PREROUTING ACCEPT\n:OUTPUT ACCEPT\n:OTHER -\n-A PREROUTING -p tcp --dport 9 -j OTHER\n-A OUTPUT -p tcp --dport 123 -j ACCEPT";

test("an empty table gets the rules as they are", () => {
  const [nat] = plan({}, "");
  expect(nat).toMatchObject({ table: "nat", status: "absent" });
  expect(nat?.forward[0]).toBe("-N ISTIO_INBOUND");
});

test("what was applied is recognised as equal, strangers or not", () => {
  const given = { interceptionMode: "TPROXY", inboundPortsInclude: "*", outboundIpRangesInclude: "*" };
  const after = apply(STRANGERS, transactionText(plan(given, STRANGERS), "forward"));
  expect(plan(given, after).map(({ status }) => status)).toEqual(["equal", "equal"]);
});

test.each([
  {
    change: "a rule more",
    edit: (text: string) => `${text}\n-A ISTIO_INBOUND -p tcp --dport 7 -j RETURN`,
    status: "drifted",
  },
  { change: "a rule less", edit: (text: string) => text.replace(/-A ISTIO_OUTPUT -d 127.*\n?/, ""), status: "drifted" },
  {
    change: "a chain more",
    edit: (text: string) => text.replace(":PREROUTING", ":ISTIO_NEW -\n:PREROUTING"),
    status: "drifted",
  },
  { change: "another port", edit: (text: string) => text.replace("15001", "15011"), status: "drifted" },
  {
    change: "a stranger in OUTPUT",
    edit: (text: string) => `${text}\n-A OUTPUT -p tcp --dport 5 -j ACCEPT`,
    status: "equal",
  },
  {
    change: "other spelling",
    edit: (text: string) => text.replace("-p tcp --dport 15008", "-p tcp -m tcp --dport 15008"),
    status: "equal",
  },
])("$change makes the table $status", ({ edit, status }) => {
  const applied = apply("", transactionText(plan({}, ""), "forward"));
  expect(plan({}, edit(applied))).toEqual([expect.objectContaining({ status })]);
});

describe("cleaning by what is found", () => {
  const none = { interceptionMode: "NONE" };

  test.each<{ what: string; given: Partial<CaptureSettings> }>([
    { what: "REDIRECT", given: { inboundPortsInclude: "*", outboundIpRangesInclude: "*" } },
    {
      what: "TPROXY with another mark",
      given: { interceptionMode: "TPROXY", inboundPortsInclude: "80", tproxyMark: "99" },
    },
    {
      what: "excluded interfaces",
      given: { interceptionMode: "TPROXY", inboundPortsInclude: "*", excludeInterfaces: "eth1,eth2" },
    },
    {
      what: "virtual interfaces without networks",
      given: { virtualInterfaces: "eth1,eth2", inboundPortsInclude: "80" },
    },
    {
      what: "virtual interfaces with networks",
      given: { virtualInterfaces: "eth1,eth2", outboundIpRangesInclude: "9.0.0.0/8" },
    },
    { what: "DNS", given: { redirectDns: true, captureAllDns: true } },
    {
      what: "DNS of 1.20",
      given: { generation: "1.20", redirectDns: true, dnsServersV4: ["10.0.0.2"], ownerGroupsInclude: "java,7" },
    },
    { what: "DNS of 1.7", given: { generation: "1.7", dnsTargetPort: "15013" } },
    { what: "TPROXY of 1.7", given: { generation: "1.7", interceptionMode: "TPROXY", inboundPortsInclude: "*" } },
    { what: "trace logging", given: { traceLogging: true, inboundPortsInclude: "*", virtualInterfaces: "eth1" } },
    { what: "dropped invalid packets", given: { dropInvalid: true } },
  ])("$what is removed without its flags, strangers stay", ({ given }) => {
    const applied = apply(STRANGERS, transactionText(plan(given, STRANGERS), "forward"));
    const cleaned = apply(applied, transactionText(plan(none, applied), "forward"));
    expect(canonical(cleaned)).toBe(canonical(apply(STRANGERS, "")));
  });

  test("without chains of ours a stranger's interface rule stays", () => {
    const listing =
      "*nat\n:PREROUTING ACCEPT\n:OUTPUT ACCEPT\n-A PREROUTING -i eth5 -j RETURN\n-A OUTPUT -o eth5 -j RETURN";
    expect(plan(none, listing)).toEqual([]);
  });

  test("a stranger's interface rule below others stays next to ours", () => {
    const before =
      "*nat\n:PREROUTING ACCEPT\n:OUTPUT ACCEPT\n-A PREROUTING -p tcp --dport 9 -j ACCEPT\n-A PREROUTING -i eth5 -j RETURN";
    const applied = apply(before, transactionText(plan({ inboundPortsInclude: "*" }, before), "forward"));
    expect(apply(applied, transactionText(plan(none, applied), "forward"))).toContain(
      "-A PREROUTING -i eth5 -j RETURN",
    );
  });

  test("rules that only the flags can tell are removed when the flags are given", () => {
    const given = { generation: "1.20", dropInvalid: true } as const;
    const applied = apply("", transactionText(plan(given, ""), "forward"));
    expect(canonical(apply(applied, transactionText(plan(none, applied, given), "forward")))).toBe("");
  });
});

const anySettings: fc.Arbitrary<Partial<CaptureSettings>> = fc.record({
  interceptionMode: fc.constantFrom("REDIRECT", "TPROXY"),
  inboundPortsInclude: fc.constantFrom("", "*", "80,443"),
  inboundPortsExclude: fc.constantFrom("", "15090"),
  outboundIpRangesInclude: fc.constantFrom("", "*", "10.0.0.0/8,127.1.2.3/32"),
  outboundPortsExclude: fc.constantFrom("", "1,2"),
  excludeInterfaces: fc.constantFrom("", "eth3"),
  virtualInterfaces: fc.constantFrom("", "eth1,eth2"),
  redirectDns: fc.boolean(),
  captureAllDns: fc.boolean(),
  dropInvalid: fc.boolean(),
  traceLogging: fc.boolean(),
});

test("for any settings: applying gives equal, going back gives the state before, replacing any other gives equal", () => {
  fc.assert(
    fc.property(anySettings, anySettings, (one, other) => {
      const first = plan(one, STRANGERS);
      const applied = apply(STRANGERS, transactionText(first, "forward"));
      expect(plan(one, applied).every(({ status }) => status === "equal")).toBe(true);
      expect(canonical(apply(applied, transactionText(first, "back")))).toBe(canonical(apply(STRANGERS, "")));
      const second = plan(other, applied);
      const replaced = apply(applied, transactionText(second, "forward"));
      expect(plan(other, replaced).every(({ status }) => status === "equal")).toBe(true);
      expect(canonical(apply(replaced, transactionText(second, "back")))).toBe(canonical(applied));
    }),
    { numRuns: 150 },
  );
});
