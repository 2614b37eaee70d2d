import { UNKNOWN, WORKLOAD_LABEL_NAMES, type WorkloadLabels } from "./workload-labels.ts";

/**
 * Labels of the standard metrics as proxies count by them: all in one tag. A tag costs Envoy the same for every request and metric, however
 * little it says, so that twenty-five cost more than all the rest of a request's statistics. Agents take the tag apart in what they serve.
 *
 * Items are separated by blanks: `name=value`; `name?value`, where nothing is `unknown`; `name~value`, where nothing is no text; `-name`, a label
 * that is taken away; and groups, which stand for several labels. The group of the caller is the last and ends with the text: at servers it is
 * what a client sent.
 */
export const JOINED_LABELS = "labels";

export interface ServedService {
  readonly host: string;
  readonly name: string;
  readonly namespace: string;
}

const FIELD_END = ";";

/** The fields of a group, in the order in which agents expect them. */
export function joinWorkload(labels: WorkloadLabels): string {
  return joinFields(WORKLOAD_LABEL_NAMES.map((name) => asField(labels[name])));
}

export function joinService({ host, name, namespace }: ServedService): string {
  return joinFields([host, name, namespace].map(asField));
}

export function joinFields(fields: readonly string[]): string {
  return fields.join(FIELD_END);
}

/** Both in one text, for those who have one place for it: first the workload, then the service. */
export function joinCalled(workload: WorkloadLabels, service: ServedService): string {
  return joinFields([joinWorkload(workload), joinService(service)]);
}

/** Names of objects and hosts have no such characters. */
export function asField(text: string): string {
  return text.replace(/[\s;"\\]/g, "_");
}

const SHOWN: Readonly<Record<keyof WorkloadLabels, string>> = {
  workload: "workload",
  namespace: "workload_namespace",
  app: "app",
  version: "version",
  canonicalService: "canonical_service",
  canonicalRevision: "canonical_revision",
  cluster: "cluster",
};
const workloadGroup = (side: string) => WORKLOAD_LABEL_NAMES.map((name) => `${side}_${SHOWN[name]}`);
const SOURCE = workloadGroup("source");
const DESTINATION = workloadGroup("destination");
const SERVICE = ["destination_service", "destination_service_name", "destination_service_namespace"];
const CALLER = "@source=";

/** Labels by name, of a text that was joined as above. */
export function expandLabels(joined: string): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  const removed: string[] = [];
  const callerAt = joined.startsWith(CALLER) ? 0 : joined.indexOf(` ${CALLER}`);
  const items = callerAt < 0 ? joined : joined.slice(0, callerAt);
  for (const item of items.split(" ")) {
    if (item.startsWith("-")) removed.push(item.slice(1));
    else expandItem(labels, item);
  }
  if (callerAt >= 0) addFields(labels, SOURCE, joined.slice(joined.indexOf(CALLER, callerAt) + CALLER.length));
  for (const name of removed) labels.delete(name);
  return labels;
}

function expandItem(labels: Map<string, string>, item: string): void {
  const at = item.search(/[=?~]/);
  if (at < 0) return;
  const [name, kind, value] = [item.slice(0, at), item[at], item.slice(at + 1)];
  if (name === "@called") addCalled(labels, value);
  else if (name === "@destination") addFields(labels, DESTINATION, value);
  else if (name === "@service") addService(labels, value);
  else if (name === "@peer") addPeer(labels, value);
  else if (item.startsWith(MESSAGES)) return;
  else if (kind === "=") labels.set(name, value);
  else labels.set(name, isNothing(value) ? (kind === "?" ? UNKNOWN : "") : value);
}

/** Absent values read as `-` or as nothing, according to Envoy's command. */
function isNothing(value: string): boolean {
  return value === "" || value === "-";
}

/** What is too much stays in the last field: other texts are other labels. */
function addFields(labels: Map<string, string>, names: readonly string[], text: string): void {
  const fields = isNothing(text) ? [] : text.split(FIELD_END);
  if (fields.length > names.length) fields.push(fields.splice(names.length - 1).join(FIELD_END));
  names.forEach((name, at) => {
    labels.set(name, fields[at] || UNKNOWN);
  });
}

/** Where no workload was reached there is the service alone. */
function addCalled(labels: Map<string, string>, text: string): void {
  const fields = text.split(FIELD_END);
  const hasWorkload = fields.length > SERVICE.length;
  addFields(labels, DESTINATION, hasWorkload ? joinFields(fields.slice(0, DESTINATION.length)) : "");
  addService(labels, hasWorkload ? joinFields(fields.slice(DESTINATION.length)) : text);
}

/** A cluster that does not say whom it is for is known by its own name. */
function addService(labels: Map<string, string>, text: string): void {
  addFields(labels, SERVICE, text.includes(FIELD_END) || isNothing(text) ? text : FIELD_END + text);
}

const MESSAGES = "@messages=";

/**
 * Envoy has the messages of a gRPC call as one text for both directions, `3,1`, which no counter takes as its value. So calls are counted by that
 * text, and how often it came times the number in it is how many messages there were.
 */
export function messagesItem(format: string): string {
  return MESSAGES + format;
}

/** What one call with these labels is worth: messages that were sent, and those that came back. */
export function messagesOf(joined: string): { readonly request: number; readonly response: number } {
  // The first: what a client sent stands at the end.
  const [, text = ""] = /(?:^| )@messages=(\S*)/.exec(joined) ?? [];
  const [, request = 0, response = 0] = /^(\d+),(\d+)$/.exec(text) ?? [];
  return { request: Number(request), response: Number(response) };
}

/** Only a server knows by whose certificate it was called. */
function addPeer(labels: Map<string, string>, principal: string): void {
  const isKnown = !isNothing(principal);
  labels.set("source_principal", isKnown ? principal : UNKNOWN);
  labels.set("connection_security_policy", isKnown ? "mutual_tls" : "none");
}
