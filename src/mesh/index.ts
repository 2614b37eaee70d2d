export { isAlive } from "../process/process-identity.ts";
export { abandonedText, findAbandoned, type RemovedRun, removeAbandoned } from "./abandoned-runs.ts";
export type { NamedObject, ObjectAnswer, ObjectRequest } from "./apply-objects.ts";
export { appProcessEnvironment } from "./build-parts.ts";
export { commandProblems } from "./check-commands.ts";
export { type ConfigProblem, type ConfigValidator, yamlFiles } from "./config-files.ts";
export {
  actOnPart,
  applyMeshFile,
  askStatus,
  askTraffic,
  runningState,
  sendObjects,
  type TrafficEdge,
  type TrafficGraph,
} from "./control-client.ts";
export { formatStatus, table } from "./core/format-status.ts";
export { prefixLines } from "./core/log-lines.ts";
export type { MeshFile } from "./core/mesh-file.ts";
export type { MeshPlan } from "./core/mesh-plan.ts";
export { MESH_NAME, MESH_SCHEMA } from "./core/mesh-schema.ts";
export { parseMeshFile, problemText } from "./core/parse-mesh-file.ts";
export { planObstacle, portObstacle, previewPlan, workloadNames } from "./core/plan-mesh.ts";
export { shadowedService, WORKLOAD_POLICIES } from "./core/shadowed-service.ts";
export { DEMO_APPS, runDemoApp } from "./demo/demo-app.ts";
export { proxylessShopFile, SHOP_TRIES, shopFile } from "./demo/shop-file.ts";
export { exampleFile } from "./example-file.ts";
export { findLogs, followLogs, readServices } from "./follow-logs.ts";
export { type Machine, machineOutside } from "./isolation/machine.ts";
export { spawnInUserNamespace, userNamespaceObstacle } from "./isolation/user-namespace.ts";
export { MeshError } from "./mesh-error.ts";
export { entryAddresses } from "./mesh-status.ts";
export { takenPorts } from "./process/free-ports.ts";
export { type Mesh, startMesh } from "./start-mesh.ts";
export type { Say, StartMeshOptions, WorkloadProgress } from "./start-options.ts";
export { refuseHeld } from "./state/lock.ts";
export { type MeshState, readState } from "./state/mesh-state.ts";
export { knownMeshes, type StateFolder, stateFolder, stateHome } from "./state/state-folder.ts";
export { stopMesh } from "./stop-mesh.ts";
export { surroundings } from "./surroundings.ts";
