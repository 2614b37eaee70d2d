import { afterEach, describe, expect, test, vi } from "vitest";
import { workloadEntry } from "../../../test/support/discovery/objects.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { parseNode } from "../../mesh-model/proxy/parse-node.ts";
import { createMemoryStore } from "../stores/create-memory-store.ts";
import { createWorkloadStore } from "./create-workload-store.ts";
import { startWorkloadController } from "./start-workload-controller.ts";
import { registeredName } from "./workload-entry-of.ts";

const SETTINGS = { registers: true, takesHealth: true, validatesIdentity: true, graceMs: 10_000 };

const node = (metadata: Record<string, unknown> = {}, address = "10.0.0.5") =>
  parseNode({
    id: `sidecar~${address}~vm1.prod~prod.svc.cluster.local`,
    locality: { region: "r1", zone: "z1", subZone: "" },
    metadata: { NAMESPACE: "prod", SERVICE_ACCOUNT: "vm", LABELS: { version: "v2" }, ...metadata },
  } as unknown as Parameters<typeof parseNode>[0]);

const group = (spec: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "WorkloadGroup",
  metadata: { name: "vms", namespace: "prod" },
  spec: {
    metadata: { labels: { app: "shop", version: "v1" }, annotations: { team: "a" } },
    template: { serviceAccount: "vm", ports: { http: 8080 }, weight: 3, labels: { tier: "back", app: "none" } },
    ...spec,
  },
});

const setup = (documents: readonly object[], settings: Partial<typeof SETTINGS> = {}) => {
  const rules = createMemoryStore({ now: () => 0 });
  for (const document of documents) expect(rules.put(document)).toMatchObject({ stored: true });
  const store = createWorkloadStore(rules);
  const log = recordLog();
  const controller = startWorkloadController({ store, settings: { ...SETTINGS, ...settings }, controller: "cp", log });
  const entries = () => store.snapshot.list("WorkloadEntry");
  const stream = (id: string, metadata: Record<string, unknown> = { AUTO_REGISTER_GROUP: "vms" }) => ({
    id,
    node: node(metadata),
    identities: ["spiffe://td/ns/prod/sa/vm"],
  });
  return { rules, store, controller, entries, stream, log };
};

afterEach(() => vi.useRealTimers());

describe("the name of a registered entry", () => {
  test.each([
    { group: "g", address: "10.0.0.1", metadata: {}, name: "g-10.0.0.1" },
    { group: "g", address: "10.0.0.1", metadata: { NETWORK: "n1" }, name: "g-10.0.0.1-n1" },
    { group: "g", address: "2001:db8::1", metadata: {}, name: "g-2001-db8--1" },
    { group: "x".repeat(260), address: "10.0.0.1", metadata: {}, name: `${"x".repeat(244)}-10.0.0.1` },
  ])("of group $group at $address is $name", ({ group: name, address, metadata, name: expected }) => {
    expect(registeredName(name, node(metadata, address))).toBe(expected);
  });
});

describe("a workload that names a group", () => {
  test("gets an entry of the group's template, its labels and its own ones, and its locality", () => {
    const { controller, entries, stream } = setup([group()]);
    const probe = { PROXY_CONFIG: { readinessProbe: { httpGet: { port: 80 } } } };
    expect(controller.connected(stream("s1", { AUTO_REGISTER_GROUP: "vms", ...probe }))).toBeUndefined();
    const labels = { tier: "back", app: "shop", version: "v2" };
    expect(entries()).toMatchObject([
      {
        name: "vms-10.0.0.5",
        namespace: "prod",
        labels,
        annotations: {
          team: "a",
          "istio.io/autoRegistrationGroup": "vms",
          "istio.io/workloadController": "cp",
          "proxy.istio.io/health-checks-enabled": "true",
        },
        spec: {
          address: "10.0.0.5",
          labels,
          serviceAccount: "vm",
          ports: { http: 8080 },
          weight: 3,
          locality: "r1/z1",
        },
      },
    ]);
  });

  test("loses it a grace period after its last stream, and not when it comes back before", () => {
    vi.useFakeTimers();
    const { controller, entries, stream } = setup([group()]);
    for (const id of ["s1", "s2"]) controller.connected(stream(id));
    controller.disconnected(stream("s1"));
    vi.advanceTimersByTime(20_000);
    expect(entries()).toHaveLength(1);
    controller.disconnected(stream("s2"));
    vi.advanceTimersByTime(9000);
    controller.connected(stream("s3"));
    vi.advanceTimersByTime(20_000);
    expect(entries()).toHaveLength(1);
    controller.disconnected(stream("s3"));
    vi.advanceTimersByTime(10_000);
    expect(entries()).toEqual([]);
  });

  test.each([
    { documents: [], identities: ["spiffe://td/ns/prod/sa/vm"], says: "cannot find WorkloadGroup prod/vms" },
    { documents: [group()], identities: [], says: "requires a verified identity" },
    { documents: [group()], identities: ["spiffe://td/ns/dev/sa/vm"], says: 'namespace mismatch: "dev" vs "prod"' },
    { documents: [group()], identities: ["spiffe://td/ns/prod/sa/x"], says: 'service account mismatch: "x" vs "vm"' },
  ])("is refused: $says", ({ documents, identities, says }) => {
    const { controller, entries, stream } = setup(documents);
    expect(controller.connected({ ...stream("s1"), identities })).toContain(says);
    expect(entries()).toEqual([]);
  });

  test("is left alone where registration is switched off", () => {
    const { controller, entries, stream } = setup([group()], { registers: false });
    expect(controller.connected(stream("s1"))).toBeUndefined();
    expect(entries()).toEqual([]);
  });
});

describe("a health report", () => {
  const checked = {
    ...workloadEntry("vm1", { address: "10.0.0.5", serviceAccount: "vm" }),
    metadata: { name: "vm1", namespace: "prod", annotations: { "proxy.istio.io/health-checks-enabled": "true" } },
  };
  const conditions = (store: ReturnType<typeof setup>["store"], name: string) =>
    (store.snapshot.get("WorkloadEntry", "prod", name)?.status as { conditions: unknown[] } | undefined)?.conditions;

  test("sets the condition of the entry that the node names, and the next one replaces it", () => {
    const { controller, store, stream } = setup([checked]);
    const own = stream("s1", { WORKLOAD_ENTRY: "vm1" });
    expect(controller.connected(own)).toBeUndefined();
    controller.reported(own, "connection refused");
    expect(conditions(store, "vm1")).toMatchObject([
      { type: "Healthy", status: "False", message: "connection refused" },
    ]);
    controller.reported(own, undefined);
    expect(conditions(store, "vm1")).toMatchObject([{ type: "Healthy", status: "True" }]);
  });

  test("of a registered workload goes with its entry", () => {
    vi.useFakeTimers();
    const { controller, store, stream } = setup([group()]);
    controller.connected(stream("s1"));
    controller.reported(stream("s1"), undefined);
    expect(conditions(store, "vms-10.0.0.5")).toMatchObject([{ status: "True" }]);
    controller.disconnected(stream("s1"));
    vi.advanceTimersByTime(10_000);
    controller.connected(stream("s2"));
    expect(conditions(store, "vms-10.0.0.5")).toBeUndefined();
  });

  test("of an entry without health checks, or of a stream that named none, changes nothing", () => {
    const { controller, store, stream } = setup([workloadEntry("vm1", { address: "10.0.0.5" })]);
    const before = store.snapshot;
    for (const metadata of [{ WORKLOAD_ENTRY: "vm1" }, {}]) {
      const own = stream("s1", metadata);
      expect(controller.connected(own)).toBeUndefined();
      controller.reported(own, "down");
    }
    expect(store.snapshot).toBe(before);
  });

  test("of an entry that does not exist refuses the stream", () => {
    const { controller, stream } = setup([]);
    expect(controller.connected(stream("s1", { WORKLOAD_ENTRY: "vm9" }))).toContain("does not exist: prod/vm9");
  });
});
