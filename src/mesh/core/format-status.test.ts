import { expect, test } from "vitest";
import type { MeshStatus } from "../mesh-status.ts";
import { formatStatus } from "./format-status.ts";

const running = (pid: number, restarts = 0) => ({ phase: "running" as const, pid, since: 0, restarts });

const status: MeshStatus = {
  name: "shop",
  namespace: "shop",
  isolation: "none",
  startedAt: "2026-01-01T00:00:00Z",
  pid: 1,
  stateFolder: "/state",
  controlPlane: { ...running(2), ready: true, debug: "http://127.0.0.1:8080/debug" },
  workloads: [
    {
      name: "front",
      service: "front",
      kind: "sidecar",
      listens: {},
      address: "127.64.0.1",
      ready: true,
      app: running(10),
      agent: running(11, 2),
      envoyPid: 12,
      envoyRestarts: 3,
      admin: "http://127.0.0.1:1",
      ports: { admin: 1, status: 2 },
    },
    {
      name: "stock",
      service: "stock",
      kind: "sidecar",
      listens: {},
      address: "127.64.0.2",
      ready: false,
      reason: "stock/app: exit code 3",
      app: { phase: "crash-loop", reason: "exit code 3", restarts: 7 },
      agent: running(21),
      envoyPid: undefined,
      envoyRestarts: 0,
      admin: "http://127.0.0.1:1",
      ports: { admin: 1, status: 2 },
    },
  ],
  entries: { front: "http://127.64.0.1:8080" },
  localEntries: { front: "http://localhost:8080" },
  problems: ["rules/a.yaml:1:2: is wrong"],
};

test("one row per workload with the restarts of all its processes, the control plane last, then entries and problems", () => {
  expect(formatStatus(status)).toBe(`mesh shop, isolation none, up since 2026-01-01T00:00:00Z, process 1

WORKLOAD       READY  ADDRESS     APP         AGENT  ENVOY  RESTARTS  REASON
front          yes    127.64.0.1  10          11     12     5
stock          no     127.64.0.2  crash-loop  21     -      7         app: exit code 3
control plane  yes                            2             0

front: http://localhost:8080 (http://127.64.0.1:8080)
problem: rules/a.yaml:1:2: is wrong
`);
});
