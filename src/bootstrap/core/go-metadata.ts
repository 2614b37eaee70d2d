import { GoStruct } from "../../template/index.ts";
import { type JsonObject, toStrictJson } from "./json.ts";
import { METADATA_TYPES } from "./metadata-keys.ts";

const ACRONYMS = new Set(["ID", "DNS", "TLS", "HTTP", "HBONE", "HTTP10"]);
/** Names that do not follow from the key. */
const NAMES: Readonly<Record<string, string>> = {
  NAME: "InstanceName",
  INSTANCE_IPS: "InstanceIPs",
  PILOT_SAN: "PilotSubjectAltName",
};
/** A template sees a flag as a boolean and a list as a list, whatever form the document gives them. */
const ZEROS = { text: "", flag: false, number: 0, list: [], map: {}, texts: [], "pod-ports": [], object: {} } as const;

/** The node's metadata as templates know it: `.metadata.Labels`. */
export function goMetadata(typed: JsonObject): GoStruct {
  const fields = new Map<string, unknown>();
  for (const [key, type] of Object.entries(METADATA_TYPES)) {
    const value = typed[key];
    fields.set(goKey(key), value === undefined ? ZEROS[type] : goValue(type, value));
  }
  return new GoStruct("*model.NodeMetadata", fields, typed, toStrictJson(typed));
}

function goValue(type: string, value: unknown): unknown {
  if (type === "flag") return value === "true";
  if (type === "list") return String(value).split(",");
  if (type === "pod-ports") return JSON.parse(String(value));
  return value;
}

function goKey(key: string): string {
  const words = key
    .split("_")
    .map((word) => (ACRONYMS.has(word) ? word : word.slice(0, 1) + word.slice(1).toLowerCase()));
  return NAMES[key] ?? words.join("");
}
