import { expect, test } from "vitest";
import { type RemoteSecret, reduceRemoteSecret, wantedClusters } from "./remote-secrets.ts";

const secret = (name: string, kubeconfigs: Readonly<Record<string, string>>): RemoteSecret => {
  const data = Object.entries(kubeconfigs).map(([id, text]) => [id, Buffer.from(text).toString("base64")]);
  const object = { metadata: { name, namespace: "istio-system" }, data: Object.fromEntries(data) };
  return reduceRemoteSecret(object) ?? { kubeconfigs: {} };
};

test("each key of a Secret is a cluster, whose kubeconfig never shows in a log", () => {
  const reduced = secret("remote", { east: "a", west: "b", empty: "" });
  expect(Object.keys(reduced.kubeconfigs)).toEqual(["east", "west"]);
  expect(reduced.kubeconfigs.east?.text.reveal()).toBe("a");
  expect(JSON.stringify(reduced)).not.toContain('"a"');
  expect(reduceRemoteSecret({ metadata: { name: "none" }, data: ["x"] } as object)).toEqual({ kubeconfigs: {} });
});

test("of two Secrets with one cluster the first by name counts, and none takes over the own cluster", () => {
  const secrets = new Map([
    ["istio-system/b", secret("b", { east: "b", own: "b" })],
    ["istio-system/a", secret("a", { east: "a" })],
  ]);
  const { clusters, ignored } = wantedClusters(secrets, "own");
  expect([...clusters.values()].map(({ id, secret: name, text }) => `${id} ${name} ${text.reveal()}`)).toEqual([
    "east istio-system/a a",
  ]);
  expect(ignored).toEqual([
    "Secret istio-system/b: cluster east is in Secret istio-system/a already",
    "Secret istio-system/b: own is the control plane's own cluster",
  ]);
});
