import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { CodedError, errorMessage } from "../base/coded-error.ts";
import { type WorkloadLabels, workloadLabels } from "../mesh-model/workload-labels.ts";

export class GrpcMetricsError extends CodedError<"invalid-bootstrap"> {}

/** Who the program is, as the agent tells its xDS client. */
export interface ProgramIdentity {
  readonly workload: WorkloadLabels;
  /** What short names are completed with: `NAMESPACE.svc.cluster.local`. */
  readonly dnsDomain: string;
  /** The name in the agent's certificate; empty as long as there is none. */
  principal(): string;
}

interface Bootstrap {
  readonly node?: {
    readonly id?: string;
    readonly metadata?: {
      readonly NAMESPACE?: string;
      readonly WORKLOAD_NAME?: string;
      readonly CLUSTER_ID?: string;
      readonly LABELS?: Readonly<Record<string, string>>;
    };
  };
  readonly certificate_providers?: {
    readonly default?: { readonly config?: { readonly certificate_file?: string } };
  };
}

export function readProgramIdentity(bootstrapFile: string): ProgramIdentity {
  const { node = {}, certificate_providers: providers } = readBootstrap(bootstrapFile);
  const { metadata = {}, id = "" } = node;
  const workload = workloadLabels({
    workloadName: metadata.WORKLOAD_NAME ?? "",
    namespace: metadata.NAMESPACE ?? "",
    labels: metadata.LABELS ?? {},
    clusterId: metadata.CLUSTER_ID ?? "",
  });
  const certificateFile = providers?.default?.config?.certificate_file ?? "";
  let known = "";
  return {
    workload,
    dnsDomain: id.split("~")[3] ?? "",
    principal() {
      // A renewed certificate has the same name.
      if (known === "" && certificateFile !== "") known = readPrincipal(certificateFile);
      return known;
    },
  };
}

function readBootstrap(file: string): Bootstrap {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Bootstrap;
  } catch (cause) {
    const advice = "it is the path in GRPC_XDS_BOOTSTRAP, written by the agent before it is ready";
    const text = `cannot read the gRPC bootstrap ${JSON.stringify(file)}: ${errorMessage(cause)}; ${advice}`;
    throw new GrpcMetricsError("invalid-bootstrap", text, { cause });
  }
}

function readPrincipal(certificateFile: string): string {
  try {
    return uriOf(new X509Certificate(readFileSync(certificateFile)).subjectAltName);
  } catch {
    return ""; // not issued yet
  }
}

/** Of a certificate's alternative names as node prints them. */
export function uriOf(alternativeNames: string | undefined): string {
  return /(?:^|, )URI:([^,]+)/.exec(alternativeNames ?? "")?.[1] ?? "";
}
