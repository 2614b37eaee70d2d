import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import { createFabric } from "../test/support/discovery/fabric.ts";
import { entry } from "../test/support/discovery/listeners.ts";
import { staticSidecar } from "../test/support/discovery/static-sidecar.ts";
import { createWorkFolder } from "../test/support/envoy/life.ts";
import { runEnvoy } from "../test/support/envoy/run-envoy.ts";
import { createTestMesh, testNode } from "../test/support/mesh-model/create-test-mesh.ts";
import { documents, peerAuthentication } from "../test/support/mesh-model/test-objects.ts";
import { needs } from "../test/support/needs.ts";
import { istioIptables } from "../test/support/netns/capture.ts";
import type { Netns } from "../test/support/netns/netns.ts";
import { until } from "../test/support/wait/until.ts";

const POD = "10.10.5.1";
const PEER = "10.10.5.2";
const VIP = "10.96.5.9";
/** Answers each connection with its own name and the address of the caller. */
const server = (name: string) =>
  `require("net").createServer((s) => s.end("${name} called from " + s.remoteAddress)).listen(9000, "0.0.0.0")`;
const client = (address: string) =>
  `const s = require("net").connect(9000, "${address}"); s.setTimeout(20000, () => s.destroy());` +
  "s.on('data', (d) => process.stdout.write(d)).on('error', (e) => process.stdout.write(e.code))";

const OBJECTS = [
  entry("app", "9000/TCP", { addresses: ["10.96.5.8"], endpoints: [{ address: POD }] }),
  entry("peer", "9000/TCP", { addresses: [VIP], endpoints: [{ address: PEER }] }),
  peerAuthentication("off", "default", { mtls: { mode: "DISABLE" } }),
];

beforeEach(needs("envoy", "root", "netns", "iptables", "setpriv"));

test.each([
  { mode: "REDIRECT", user: 1337, seen: "127.0.0.6" },
  // By the rules for its own user the proxy would take what it sends to the workload for a call of the workload's.
  { mode: "TPROXY", user: 0, seen: PEER },
])("$mode: the workload is called from $seen, and calls others through the sidecar", async ({ mode, user, seen }) => {
  await using opened = new CloseStack();
  const fabric = opened.add(await createFabric("none"));
  const [pod, peer] = [await fabric.attach(POD), await fabric.attach(PEER)];
  opened.add(ended(pod.spawn(process.execPath, ["-e", server("pod")])));
  opened.add(ended(peer.spawn(process.execPath, ["-e", server("peer")])));
  const captured = await istioIptables(pod, [
    ...["-p", "15001", "-z", "15006", "-u", "1337", "-m", mode, "-i", "*", "-b", "*", "-d", "15000"],
  ]);
  expect(captured).toMatchObject({ code: 0 });
  const work = createWorkFolder();
  opened.defer(() => work[Symbol.dispose]());
  chmodSync(work.folder, 0o755);
  const node = testNode({ address: POD, metadata: { INTERCEPTION_MODE: mode } });
  const view = createTestMesh(documents(...OBJECTS))
    .take()
    .snapshot.view(node);
  // As in a pod: user or group is one whose traffic is not captured.
  const identity = { uid: user, gid: 1337 };
  opened.add(await runEnvoy(staticSidecar(view, work.folder), { netns: pod, user: identity }));

  await until("the workload is called", async () => (await call(peer, POD)).startsWith("pod"));
  expect(await call(peer, POD)).toBe(`pod called from ${seen}`);
  // No machine has this address: only the sidecar knows which endpoint it stands for.
  await until("the peer is called", async () => (await call(pod, VIP)).startsWith("peer"));
  expect(await call(pod, VIP)).toBe(`peer called from ${POD}`);
});

async function call(netns: Netns, address: string): Promise<string> {
  return (await netns.exec(process.execPath, ["-e", client(address)])).stdout;
}

function ended(child: ChildProcess) {
  const gone = once(child, "close");
  return {
    async stop() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
