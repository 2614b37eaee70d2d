import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createScriptedCluster } from "../../test/support/discovery/scripted-cluster.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { until } from "../../test/support/wait/until.ts";
import { CloseStack } from "../base/close-stack.ts";
import { startMeshFile } from "./mesh-file.ts";
import { meshMapName, watchMeshMaps } from "./watch-mesh-maps.ts";

let opened: CloseStack;
let folder: string;
beforeEach(() => {
  opened = new CloseStack();
  folder = mkdtempSync(join(tmpdir(), "mesh-maps-"));
});
afterEach(async () => {
  await opened.close();
  rmSync(folder, { recursive: true });
});

const configMap = (name: string, mesh: string) => ({ metadata: { name, namespace: "istio-system" }, data: { mesh } });

async function start({ revision = "", shared = "", maps = [configMap("istio", "trustDomain: own")] } = {}) {
  const cluster = createScriptedCluster();
  for (const map of maps) cluster.set("configmaps", map);
  const log = recordLog();
  const watched = watchMeshMaps({ source: cluster, namespace: "istio-system", revision, shared });
  opened.defer(() => watched.stop());
  await watched.synced;
  const mesh = opened.add(
    await startMeshFile({ path: join(folder, "mesh"), domainSuffix: "cluster.local", cluster: watched, log }),
  );
  return { cluster, mesh, log };
}

test.each([
  { revision: "", name: "istio" },
  { revision: "default", name: "istio" },
  { revision: "1-31", name: "istio-1-31" },
])("the mesh config of revision '$revision' is in the ConfigMap $name", async ({ revision, name }) => {
  expect(meshMapName(revision)).toBe(name);
  const { mesh, cluster } = await start({ revision, maps: [configMap(name, "trustDomain: own")] });
  expect(mesh.settings.trustDomain).toBe("own");
  cluster.set("configmaps", configMap(name, "trustDomain: changed"));
  await until(() => expect(mesh.settings.trustDomain).toBe("changed"));
});

test("the user's ConfigMap counts wherever the revision's says nothing", async () => {
  const { mesh, cluster } = await start({
    shared: "users",
    maps: [configMap("istio", "trustDomain: own"), configMap("users", "{trustDomain: users, rootNamespace: root}")],
  });
  expect(mesh.settings).toMatchObject({ trustDomain: "own", rootNamespace: "root" });
  cluster.remove("configmaps", configMap("users", ""));
  await until(() => expect(mesh.settings.rootNamespace).toBe("istio-system"));
});

test("a file beats the ConfigMap", async () => {
  writeFileSync(join(folder, "mesh"), "trustDomain: file");
  expect((await start()).mesh.settings.trustDomain).toBe("file");
});

test("a ConfigMap that cannot be used fails the start, and later leaves the last one in force", async () => {
  await expect(start({ maps: [configMap("istio", "trustDomain: [1]")] })).rejects.toThrow(
    /ConfigMap istio-system\/istio: failed to convert/,
  );
  const { mesh, cluster, log } = await start();
  cluster.set("configmaps", configMap("istio", "trustDomain: [1]"));
  await until(() => expect(log.lines.map(({ level }) => level)).toContain("error"));
  expect(mesh.settings.trustDomain).toBe("own");
});
