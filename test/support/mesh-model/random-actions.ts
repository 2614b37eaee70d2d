import fc from "fast-check";
import type { XdsProtocol } from "../../../src/xds/methods.ts";
import type { XdsType } from "../../../src/xds/xds-types.ts";
import type { TestNode } from "./create-test-mesh.ts";
import { ANY_AGED_RULE, ANY_MESH_SETTINGS } from "./random-rules.ts";
import type { TestObject } from "./test-objects.ts";

/** What a client wants of a type, as places in the list of its names. */
export interface Wish {
  readonly type: XdsType;
  readonly add: readonly number[];
  readonly drop: readonly number[];
  readonly star: "add" | "drop" | "leave";
}

/** One thing that happens in a mesh or to one of its clients. */
export type Action =
  | { readonly do: "put" | "delete"; readonly object: TestObject }
  | { readonly do: "mesh"; readonly settings: string }
  | { readonly do: "snapshot" | "settle" }
  | ({ readonly do: "want"; readonly at: number } & Wish)
  | { readonly do: "push" | "stall" | "resume" | "reconnect" | "follow"; readonly at: number }
  | { readonly do: "read"; readonly at: number; readonly refuses: boolean };

export interface ChosenClient {
  readonly node: TestNode;
  readonly protocol: XdsProtocol;
  /** It begins as Envoy does, with all types. */
  readonly asks: boolean;
}

const NODES: readonly TestNode[] = [
  { name: "api-1", labels: { app: "api" }, metadata: { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" } },
  { name: "a-1", namespace: "prod", address: "10.10.0.12", labels: { app: "a", version: "v1" } },
  { name: "edge-1", type: "router", namespace: "istio-system", address: "10.10.9.1", labels: { app: "a" } },
  { name: "grpc-1", address: "10.10.0.12", labels: { app: "api" }, metadata: { GENERATOR: "grpc" } },
];
const HOSTS = ["a.default.svc.cluster.local", "b.prod.svc.cluster.local", "shared.example"];
const CLUSTERS = [80, 90].flatMap((port) =>
  ["", "a"].flatMap((subset) => HOSTS.map((host) => `outbound|${port}|${subset}|${host}`)),
);

/** Few names of each type, of which most may be of something. */
export const NAMES: Readonly<Record<XdsType, readonly string[]>> = {
  CDS: CLUSTERS,
  EDS: CLUSTERS,
  LDS: ["virtualInbound", "virtualOutbound", "0.0.0.0_80", ...HOSTS.flatMap((host) => [`${host}:80`, `${host}:90`])],
  RDS: ["80", "90", "http.80", "http.8080", ...CLUSTERS.slice(0, 4)],
  SDS: [],
  ECDS: ["ext-a", "ext-b", "ext-c"],
  NDS: [""],
  PCDS: [""],
  BDS: [""],
};
export const TYPES: readonly XdsType[] = ["CDS", "EDS", "LDS", "RDS", "ECDS", "NDS"];

const at = fc.nat({ max: 2 });
const places = fc.array(fc.nat({ max: 30 }), { maxLength: 3 });

const CHANGE = fc.record({ do: fc.constantFrom<"put" | "delete">("put", "put", "delete"), object: ANY_AGED_RULE });
const WISH = fc.record({
  do: fc.constant<"want">("want"),
  at,
  type: fc.constantFrom(...TYPES),
  add: places,
  drop: places,
  star: fc.constantFrom<Wish["star"]>("add", "leave", "leave", "drop"),
});
const STEP = fc.record({
  do: fc.constantFrom<"push" | "stall" | "resume" | "reconnect" | "follow">(
    "push",
    "push",
    "stall",
    "resume",
    "reconnect",
    "follow",
  ),
  at,
});

const ANY_ACTION: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: CHANGE },
  { weight: 1, arbitrary: fc.record({ do: fc.constant<"mesh">("mesh"), settings: ANY_MESH_SETTINGS }) },
  { weight: 3, arbitrary: fc.constant<Action>({ do: "snapshot" }) },
  { weight: 3, arbitrary: WISH },
  { weight: 5, arbitrary: STEP },
  { weight: 4, arbitrary: fc.record({ do: fc.constant<"read">("read"), at, refuses: fc.boolean() }) },
  { weight: 4, arbitrary: fc.constant<Action>({ do: "settle" }) },
);
export const ANY_ACTIONS = fc.array(ANY_ACTION, { maxLength: 30, size: "max" });

const ANY_CLIENT: fc.Arbitrary<ChosenClient> = fc.record({
  node: fc.constantFrom(...NODES),
  protocol: fc.constantFrom<XdsProtocol>("sotw", "delta"),
  asks: fc.constantFrom(true, true, false),
});
export const ANY_CLIENTS = fc.tuple(ANY_CLIENT, ANY_CLIENT, ANY_CLIENT);
