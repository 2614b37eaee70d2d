import { beforeEach, expect, test } from "vitest";
import { explained } from "../conformance/control-planes/explained-differences.ts";
import { main } from "../conformance/control-planes/run-random.ts";
import { needs } from "../support/needs.ts";
import { PROGRAM } from "../support/process/program.ts";

beforeEach(needs("kubernetes"));

async function run(peer: string | undefined, ...words: readonly string[]) {
  const lines: string[] = [];
  const code = await main(words, peer, (line) => lines.push(line));
  return { code, lines };
}

test("a peer that reads the API server as well differs by its one service, and in nothing of the random meshes", async () => {
  const { code, lines } = await run(PROGRAM, "--meshes", "3", "--seed", "7");
  expect(lines.at(-1)).toBe("0 of 3 meshes are told the same (seed 7)");
  const differences = lines.filter((line) => line.startsWith("  "));
  const isOfService = (line: string) =>
    /kubernetes\.default\.svc|listeners\[[\d.]+_443\]: expected "present"/.test(line);
  expect(differences.length).toBeGreaterThan(0);
  expect(differences.filter((line) => !isOfService(line))).toEqual([]);
  expect(code).toBe(1);
});

test("wrong words are answered with what is allowed", async () => {
  expect(await run(undefined)).toMatchObject({ code: 2, lines: [expect.stringContaining("PEER is missing")] });
  const wrong = await run(PROGRAM, "--meshes", "many");
  expect(wrong).toMatchObject({
    code: 2,
    lines: [expect.stringContaining('--meshes must be a whole number, not "many"')],
  });
});

const entry = (namespace: string, exportTo?: readonly string[]) => ({
  kind: "ServiceEntry",
  name: `of-${namespace}-${exportTo?.join() ?? ""}`,
  namespace,
  spec: { hosts: ["shared.example"], ports: [{ number: 80, protocol: "HTTP" }], ...(exportTo && { exportTo }) },
});
const node = { address: "10.0.0.1", namespace: "prod", labels: {}, isRouter: false, isIntercepted: true };

test.each([
  { mesh: [entry("prod"), entry("prod", ["."])], says: /all count/ },
  { mesh: [entry("prod")], says: undefined },
])("more clusters than the peer's are explained only where two objects describe the host: $says", ({ mesh, says }) => {
  const reason = explained({
    difference: 'clusters[outbound|80||shared.example]: expected nothing, got "present"',
    node,
    mesh,
  });
  if (says === undefined) expect(reason).toBeUndefined();
  else expect(reason).toMatch(says);
});

test("a virtual host that the peer lacks is explained where two objects of a namespace describe the host", () => {
  const difference = "routes[80].virtualHosts.shared.example:80: expected nothing, got {}";
  expect(explained({ difference, node, mesh: [entry("prod"), entry("prod", ["."])] })).toMatch(/all count/);
  expect(explained({ difference, node, mesh: [entry("prod"), entry("default")] })).toBeUndefined();
});

test.each([
  { other: { protocol: "TCP", namespace: "prod" }, says: /oldest object/ },
  { other: { protocol: "HTTP", namespace: "prod" }, says: undefined },
  { other: { protocol: "TCP", namespace: "default" }, says: undefined },
])(
  "a virtual host that only the peer has is explained where the host's port is $other as well: $says",
  ({ other, says }) => {
    const older = { ...entry(other.namespace), name: "older" };
    const spec = { ...older.spec, ports: [{ number: 80, protocol: other.protocol }] };
    const reason = explained({
      difference: 'routes[80].virtualHosts.shared.example:80: expected {"domains":{}}, got nothing',
      node,
      mesh: [{ ...older, spec }, entry("prod")],
    });
    if (says === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(says);
  },
);

test.each([
  { other: { resolution: "NONE" }, says: /not listened on/ },
  { other: { resolution: "NONE", addresses: ["10.50.0.1"] }, says: undefined },
  { other: { resolution: "STATIC" }, says: undefined },
  { other: { resolution: "NONE", hosts: ["other.example"] }, says: undefined },
])(
  "a listener that only the peer has, at an endpoint's address, is explained beside $other: $says",
  ({ other, says }) => {
    const one = entry("prod");
    const own = { resolution: "STATIC", addresses: ["10.50.0.2"], endpoints: [{ address: "10.60.0.1" }] };
    const reason = explained({
      difference: 'listeners[10.60.0.1_80]: expected "present", got nothing',
      node,
      mesh: [
        { ...one, spec: { ...one.spec, ...own } },
        { ...one, name: "b", spec: { ...one.spec, ...other } },
      ],
    });
    if (says === undefined) expect(reason).toBeUndefined();
    else expect(reason).toMatch(says);
  },
);

test.each([
  { kind: "WorkloadEntry", spec: { address: node.address, labels: {} }, says: /labels that only the proxy has stay/ },
  {
    kind: "ServiceEntry",
    spec: { endpoints: [{ address: node.address }] },
    says: /labels that only the proxy has stay/,
  },
  { kind: "WorkloadEntry", spec: { address: "10.0.0.2", labels: {} }, says: undefined },
])("policies that select a label which a registered $kind lacks are explained: $says", ({ kind, spec, says }) => {
  const policy = { kind: "RequestAuthentication", name: "p", namespace: "prod", spec: selecting({ version: "v1" }) };
  const reason = explained({
    difference: "listeners[virtualInbound].filterChains: expected 1, got 2",
    node: { ...node, labels: { version: "v1" } },
    mesh: [{ kind, name: "w", namespace: "prod", spec }, policy],
  });
  if (says === undefined) expect(reason).toBeUndefined();
  else expect(reason).toMatch(says);
});

function selecting(matchLabels: Readonly<Record<string, string>>) {
  return { selector: { matchLabels } };
}

test.each([
  { mesh: [entry("default", ["default"])], says: /only rules show/ },
  { mesh: [entry("default")], says: undefined },
])("a virtual host that the peer lacks is explained where no service of the host is seen: $says", ({ mesh, says }) => {
  const rule = { kind: "VirtualService", name: "v", namespace: "prod", spec: { hosts: ["shared.example"] } };
  const reason = explained({
    difference: "routes[90].virtualHosts.shared.example:90: expected nothing, got {}",
    node,
    mesh: [...mesh, rule],
  });
  if (says === undefined) expect(reason).toBeUndefined();
  else expect(reason).toMatch(says);
});
