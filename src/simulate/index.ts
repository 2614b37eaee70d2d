export type { Decision, Origin, Subject } from "./decision.ts";
export type { Lookup, ProxyResources, SimulatedMesh, SimulatedProxy } from "./mesh.ts";
export { type SimulatedCall, type Simulation, simulateRequest } from "./simulate-request.ts";
