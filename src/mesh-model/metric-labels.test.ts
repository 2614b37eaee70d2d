import { expect, test } from "vitest";
import { expandLabels, joinCalled, joinService, joinWorkload, messagesOf } from "./metric-labels.ts";

const WEB = {
  workload: "web-v1",
  namespace: "default",
  app: "web",
  version: "v1",
  canonicalService: "web",
  canonicalRevision: "latest",
  cluster: "Kubernetes",
};
const labelsOf = (joined: string) => Object.fromEntries(expandLabels(joined));

test("what was joined comes apart as it was", () => {
  const service = { host: "web.default.svc", name: "web", namespace: "default" };
  expect(labelsOf(`@destination=${joinWorkload(WEB)} @service=${joinService(service)} @source=`)).toMatchObject({
    destination_workload: "web-v1",
    destination_workload_namespace: "default",
    destination_app: "web",
    destination_version: "v1",
    destination_canonical_service: "web",
    destination_canonical_revision: "latest",
    destination_cluster: "Kubernetes",
    destination_service: "web.default.svc",
    destination_service_name: "web",
    destination_service_namespace: "default",
    source_workload: "unknown",
  });
});

test("a workload that was reached and its service come in one text; of a call that reached none there is the service alone", () => {
  const service = { host: "web.default.svc", name: "web", namespace: "default" };
  const both = labelsOf(`@destination=${joinWorkload(WEB)} @service=${joinService(service)}`);
  expect(labelsOf(`@called=${joinCalled(WEB, service)}`)).toEqual(both);
  const none = labelsOf(`@destination=- @service=${joinService(service)}`);
  expect(labelsOf(`@called=${joinService(service)}`)).toEqual(none);
  expect(none).toMatchObject({ destination_workload: "unknown", destination_service_name: "web" });
});

test.each(["PassthroughCluster", "outbound|80||x", "-"])("a call to %s is of an unknown workload", (text) => {
  expect(labelsOf(`@called=${text}`)).toEqual(labelsOf(`@destination=- @service=${text}`));
});

test.each([
  { item: "a=", label: { a: "" } },
  { item: "a=-", label: { a: "-" } },
  { item: "a=b=c", label: { a: "b=c" } },
  { item: "a?", label: { a: "unknown" } },
  { item: "a?-", label: { a: "unknown" } },
  { item: "a?spiffe://td/ns/a/sa/b", label: { a: "spiffe://td/ns/a/sa/b" } },
  { item: "a~-", label: { a: "" } },
  { item: "a~14", label: { a: "14" } },
  { item: "a=b -a", label: {} },
  { item: "-source_app a=b", label: { a: "b" } },
  { item: "@peer=-", label: { source_principal: "unknown", connection_security_policy: "none" } },
  { item: "@peer=spiffe://x", label: { source_principal: "spiffe://x", connection_security_policy: "mutual_tls" } },
  {
    item: "@service=outbound|80||x",
    label: {
      destination_service: "unknown",
      destination_service_name: "outbound|80||x",
      destination_service_namespace: "unknown",
    },
  },
  {
    item: "@service=-",
    label: {
      destination_service: "unknown",
      destination_service_name: "unknown",
      destination_service_namespace: "unknown",
    },
  },
])("$item reads $label", ({ item, label }) => {
  expect(labelsOf(item)).toEqual(label);
});

test("what a client says of itself becomes no label but its own, and no two texts become one", () => {
  const hostile = "a;b response_code=200 -reporter @destination=x;y;c;d;e;f;g;h @source=z";
  const labels = labelsOf(`reporter=destination response_code=503 @source=${hostile}`);
  expect(labels).toMatchObject({ reporter: "destination", response_code: "503", source_workload: "a" });
  expect(Object.keys(labels).filter((name) => name.startsWith("destination"))).toEqual([]);
  expect(labels.source_cluster).toBe("f;g;h @source=z");
});

test("a removed label of the caller is gone, although its group comes last", () => {
  expect(labelsOf("-source_app @source=a;b;c")).not.toHaveProperty("source_app");
});

test.each([
  { joined: "a=b @messages=37,12 @source=x", request: 37, response: 12 },
  { joined: "@messages=1,0", request: 1, response: 0 },
  { joined: "a=b @messages=- @source=x @messages=9,9", request: 0, response: 0 },
  { joined: "a=b @source=x @nothing", request: 0, response: 0 },
])("$joined is worth $request and $response messages, and none of it is a label", ({ joined, request, response }) => {
  expect(messagesOf(joined)).toEqual({ request, response });
  expect(Object.keys(labelsOf(joined)).filter((name) => name.includes("messages"))).toEqual([]);
});

test("names that would end a field do not", () => {
  const odd = { ...WEB, workload: 'a b;c"d' };
  expect(labelsOf(`@destination=${joinWorkload(odd)}`)).toMatchObject({
    destination_workload: "a_b_c_d",
    destination_cluster: "Kubernetes",
  });
});
