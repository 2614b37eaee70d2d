import { generateOutboundListeners } from "../../../src/envoy-config/listeners/outbound.ts";
import type { Listener } from "../../../src/protobuf/gen/envoy/config/listener/v3.ts";
import { createTestMesh, type TestNode, testNode } from "../mesh-model/create-test-mesh.ts";
import { documents, type TestObject } from "../mesh-model/test-objects.ts";
import { type Connection, chooseFilterChain, describeChain } from "./choose-filter-chain.ts";

export interface TestEntry {
  readonly addresses?: readonly string[];
  readonly resolution?: "STATIC" | "DNS" | "NONE";
  readonly namespace?: string;
  readonly created?: number;
  readonly endpoints?: readonly Readonly<Record<string, unknown>>[];
  readonly workloadSelector?: object;
  readonly location?: "MESH_INTERNAL" | "MESH_EXTERNAL";
}

/** A ServiceEntry for `name.example`; `ports` is like `80/HTTP 9000/TCP`, nothing after the slash is sniffed. */
export function entry(name: string, ports: string, given: TestEntry = {}): TestObject {
  const { namespace = "default", created, resolution = "STATIC", location = "MESH_INTERNAL", ...spec } = given;
  return {
    kind: "ServiceEntry",
    name: name.replace("*.", "any."),
    namespace,
    ...(created !== undefined && { created }),
    spec: {
      hosts: [name.includes(".") ? name : `${name}.example`],
      location,
      resolution,
      ports: ports.split(" ").map((text) => {
        const [number = "", protocol = ""] = text.split("/");
        return { number: Number(number), name: `p-${number}`, protocol };
      }),
      ...(resolution === "STATIC" && spec.workloadSelector === undefined && { endpoints: [{ address: "10.20.0.1" }] }),
      ...spec,
    },
  };
}

export interface OutboundOptions {
  readonly node?: TestNode;
  readonly meshYaml?: string;
}

/** What a proxy gets for its calls. */
export function outbound(objects: readonly TestObject[], { node = {}, meshYaml }: OutboundOptions = {}) {
  const view = createTestMesh(documents(...objects), meshYaml)
    .take()
    .snapshot.view(testNode(node));
  const { listeners, conflicts } = generateOutboundListeners(view.outbound);
  const find = (name: string): Listener => {
    const found = listeners.find((listener) => listener.name === name);
    if (found === undefined) throw new Error(`no listener ${name} among ${listeners.map((each) => each.name)}`);
    return found;
  };
  const chain = (name: string, connection: Partial<Connection> = {}) =>
    chooseFilterChain(find(name), { port: 0, speaks: "tcp", ...connection });
  return {
    listeners,
    conflicts,
    names: listeners.map(({ name = "" }) => name),
    find,
    chain,
    /** Where a connection to the listener goes. */
    call: (name: string, connection: Partial<Connection> = {}) => describeChain(chain(name, connection)),
  };
}

export const NONE: OutboundOptions = { node: { metadata: { INTERCEPTION_MODE: "NONE" } } };
