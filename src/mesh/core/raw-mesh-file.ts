import type { Path } from "./check-schema.ts";
import type { MeshFile, Position, ServiceKind, ServiceProtocol } from "./mesh-file.ts";

export type RawCommand = string | readonly (string | number)[];

export interface RawHealthCheck {
  readonly http?: string;
  readonly tcp?: "connect";
  readonly command?: RawCommand;
  readonly port?: number;
  readonly interval?: string;
  readonly timeout?: string;
  readonly retries?: number;
  readonly start_period?: string;
}

export interface RawWorkload {
  readonly command?: RawCommand;
  readonly directory?: string;
  readonly env?: Readonly<Record<string, unknown>>;
  readonly env_file?: string | readonly string[];
  readonly labels?: Readonly<Record<string, unknown>>;
  readonly serviceAccount?: string;
  readonly replicas?: number;
  readonly healthcheck?: RawHealthCheck;
}

export interface RawService extends RawWorkload {
  readonly kind?: ServiceKind;
  readonly port?: number;
  readonly protocol?: ServiceProtocol;
  readonly ports?: Readonly<Record<string, number | { readonly port: number; readonly protocol?: ServiceProtocol }>>;
  readonly entry?: boolean;
  readonly address?: string;
  readonly endpoints?: readonly {
    readonly address: string;
    readonly port?: number;
    readonly labels?: Readonly<Record<string, unknown>>;
  }[];
  readonly calls?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition?: "started" | "healthy" }>>;
  readonly versions?: Readonly<Record<string, RawWorkload>>;
}

/** A mesh file of the right form, before defaults are filled in. */
export interface RawFile {
  readonly name?: string;
  readonly namespace?: string;
  readonly mtls?: MeshFile["mtls"];
  readonly egress?: MeshFile["egress"];
  readonly import?: string;
  readonly services: Readonly<Record<string, RawService>>;
  readonly config?: readonly unknown[];
  readonly configDir?: string;
}

export type Locate = (path: Path) => Position;

/** The service's ports by name; the short form is called after its protocol. */
export function portsOf({ port, protocol = "http", ports }: RawService) {
  if (ports === undefined) return port === undefined ? [] : [{ name: protocol, port, protocol }];
  return Object.entries(ports).map(([name, each]) => {
    const spec = typeof each === "number" ? { port: each } : each;
    return { name, port: spec.port, protocol: spec.protocol ?? protocolOf(name) ?? protocol };
  });
}

/** A port that is called like a protocol speaks it. */
function protocolOf(name: string): ServiceProtocol | undefined {
  return PROTOCOLS.find((each) => each === name);
}

const PROTOCOLS = ["http", "http2", "grpc", "tcp"] as const;

/** Without a condition the other one has to be ready. */
export function dependenciesOf({ depends_on: given = [] }: RawService) {
  const named: readonly (readonly [string, { readonly condition?: "started" | "healthy" }])[] = Array.isArray(given)
    ? (given as readonly string[]).map((name) => [name, {}])
    : Object.entries(given as Exclude<typeof given, readonly string[]>);
  return named.map(([service, { condition = "healthy" }]) => ({ service, condition }));
}
