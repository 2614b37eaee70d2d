import { afterEach, expect, test, vi } from "vitest";
import { openWorld } from "../../../test/support/mesh-model/change-every-field.ts";
import { createTestMesh, type TestMesh } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { BASES, SELECTING, SERVICES } from "../../../test/support/mesh-model/every-kind-mesh.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import type { Kind } from "../../istio-api/kinds.ts";
import { ReadPath } from "../../mesh-model/derive/record-reads.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const put = (object: TestObject, spec: object) => (mesh: TestMesh) =>
  mesh.put(documents({ ...object, spec: { ...object.spec, ...spec } }));
const base = (kind: Kind, at = 0) => BASES[kind][at] as TestObject;
const [a] = SERVICES as [TestObject];

/** Questions that generators ask, and a change that only their answers show. */
test.each([
  { question: "snapshot.endpoints", change: put(a, { endpoints: [{ address: "10.10.7.7", serviceAccount: "web" }] }) },
  {
    question: "destinationRule",
    change: put(base("DestinationRule"), { trafficPolicy: { tls: { mode: "DISABLE" } } }),
  },
  {
    question: "snapshot.serviceAccounts",
    change: put(a, { endpoints: [{ address: "10.10.0.11", serviceAccount: "x" }] }),
  },
  { question: "egress", change: put(base("Sidecar"), { egress: [{ hosts: ["./*"] }] }) },
  { question: "services", change: put(base("Sidecar"), { egress: [{ hosts: ["./*"] }] }) },
  {
    question: "outboundTrafficPolicy",
    change: put(base("Sidecar"), { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } }),
  },
  { question: "mesh", change: (mesh: TestMesh) => mesh.setMesh("connectTimeout: 7s") },
  {
    question: "gateways",
    change: put(base("Gateway"), {
      servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
    }),
  },
  { question: "modesIn", change: put(base("PeerAuthentication", 1), { mtls: { mode: "DISABLE" } }) },
  { question: "serviceMtls", change: put(base("PeerAuthentication", 1), { mtls: { mode: "DISABLE" } }) },
  {
    question: "describesPeers",
    change: put(base("Telemetry"), { metrics: [{ providers: [{ name: "prometheus" }] }] }),
  },
  { question: "inbound.mtls", change: put(base("PeerAuthentication"), { mtls: { mode: "STRICT" } }) },
  { question: "snapshot.configs.list", change: put(base("AuthorizationPolicy"), { action: "DENY" }) },
])("a control plane that forgets having asked for $question is caught", async ({ question, change }) => {
  const mesh = createTestMesh(documents(...SERVICES, SELECTING, ...Object.values(BASES).flat()));
  const world = await openWorld(mesh);
  const asked = ReadPath.prototype.isStill;
  vi.spyOn(ReadPath.prototype, "isStill").mockImplementation(function (this: ReadPath, of, read) {
    return this.text === question || asked.call(this, of, read);
  });
  try {
    change(mesh);
    await expect(world.settle(question)).rejects.toThrow();
  } finally {
    world.close();
  }
});
