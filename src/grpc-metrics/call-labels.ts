import { asField, expandLabels, joinFields, joinService } from "../mesh-model/metric-labels.ts";

/** A call that is over, as one of its ends knows it. Texts that are empty are not known. */
export interface EndedCall {
  readonly reporter: "source" | "destination";
  /** Host of the service that was called. */
  readonly host: string;
  /** What the other side says of itself, as in `x-istio-peer`. */
  readonly peer: string;
  readonly peerPrincipal: string;
  readonly isAnswered: boolean;
  readonly isCancelled: boolean;
  readonly status: number;
}

export interface Self {
  readonly peer: string;
  readonly principal: string;
}

/** In the form that `expandLabels` reads: the caller's own words at the end, from where they cannot write other labels. */
export function joinCall(call: EndedCall, self: Self): string {
  const isSource = call.reporter === "source";
  const named = call.peer === "" ? namespaceOnly(call.peerPrincipal) : peerText(call.peer);
  const [source, destination] = isSource ? [self.peer, named] : [named, self.peer];
  const [from, to] = isSource ? [self.principal, call.peerPrincipal] : [call.peerPrincipal, self.principal];
  return [
    `reporter=${call.reporter}`,
    `@destination=${destination}`,
    `@service=${joinService(serviceOf(call.host))}`,
    isSource ? `source_principal?${from}` : `@peer=${from}`,
    `destination_principal?${to}`,
    "request_protocol=grpc",
    `response_code=${call.isAnswered ? 200 : 0}`,
    `grpc_response_status=${call.status}`,
    // As Envoy says it of a client that went away.
    `response_flags=${call.isCancelled && !isSource ? "DC" : "-"}`,
    // Whether the other side took the certificate is for it to say.
    ...(isSource ? ["connection_security_policy=unknown"] : []),
    `@source=${source}`,
  ].join(" ");
}

/** In alphabetical order. */
export const LABEL_NAMES: readonly string[] = namesOf("source");

function namesOf(reporter: EndedCall["reporter"]): readonly string[] {
  const none = { host: "", peer: "", peerPrincipal: "", isAnswered: true, isCancelled: false, status: 0 };
  return [...expandLabels(joinCall({ reporter, ...none }, { peer: "", principal: "" })).keys()].sort();
}

/** `NAME:PORT`, as programs write targets, with or without scheme; a short name is of the own namespace. */
export function hostOf(target: string, dnsDomain: string): string {
  const [host = ""] = target.replace(/^[a-z]+:\/*/, "").split(":");
  return host === "" || host.includes(".") || dnsDomain === "" ? host : `${host}.${dnsDomain}`;
}

function serviceOf(host: string) {
  const [name = "", namespace = "", svc = ""] = host.split(".");
  return svc === "svc" ? { host, name, namespace } : { host, name: host, namespace: "" };
}

/** Of a workload that says nothing of itself its certificate tells where it is. */
function namespaceOnly(principal: string): string {
  const namespace = /^spiffe:\/\/[^/]+\/ns\/([^/]+)\/sa\//.exec(principal)?.[1] ?? "";
  return namespace === "" ? "" : joinFields(["", asField(namespace)]);
}

const MAX_PEER_LENGTH = 1024;

/** What came over the network. */
function peerText(text: string): string {
  return text.slice(0, MAX_PEER_LENGTH).replace(/\s/g, "_");
}
