import { isJsonObject } from "../../base/json-object.ts";
import { jsonSyntaxError } from "../../files/json/json-syntax-error.ts";
import { BootstrapError } from "../bootstrap-error.ts";
import { toStrictJson } from "./json.ts";
import type { MetadataType } from "./metadata-keys.ts";
import { METADATA_TYPES } from "./metadata-keys.ts";
import type { RawValue } from "./raw-metadata.ts";

/** Values by key in the form the control plane reads; keys that are absent, empty, 0 or false are not in it. */
export type TypedMetadata = Map<string, unknown>;

export interface DecodedMetadata {
  readonly typed: TypedMetadata;
  /** Raw keys whose value was refused with a warning; they must not come back through the untyped part. */
  readonly refused: ReadonlySet<string>;
}

const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/**
 * Gives raw values their types. Names match exactly: a label called `network` is not NETWORK. A flag that does not parse is a warning
 * and counts as unset; a structured value of the wrong shape is an error. Both name the variable.
 */
export function decodeMetadata(
  raw: ReadonlyMap<string, RawValue>,
  typedKeys: ReadonlySet<string>,
  warnings: string[],
): DecodedMetadata {
  const typed: TypedMetadata = new Map();
  const refused = new Set<string>();
  for (const [key, { value, source }] of raw) {
    const type = METADATA_TYPES[key];
    if (type === undefined || !typedKeys.has(key) || value === null) continue;
    const decoded = decodeValue(type, value);
    if ("problem" in decoded) {
      const message = `${source}: ${toStrictJson(value)} ${decoded.problem}`;
      if (type !== "flag" && type !== "number") throw new BootstrapError("invalid-metadata", message);
      warnings.push(`${message}; ignored`);
      refused.add(key);
    } else if (!isEmptyValue(decoded.value)) {
      typed.set(key, decoded.value);
    }
  }
  return { typed, refused };
}

/** Empty values are left out of the output. */
export function isEmptyValue(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

type Decoded = { readonly value: unknown } | { readonly problem: string };

function decodeValue(type: MetadataType, value: unknown): Decoded {
  switch (type) {
    case "text":
    case "list":
      return typeof value === "string" ? { value } : { problem: "is not a text" };
    case "flag":
      if (typeof value === "string" && TRUE.has(value)) return { value: "true" };
      if (typeof value === "string" && FALSE.has(value)) return { value: "" };
      return { problem: `is not a boolean (${[...TRUE, ...FALSE].join(", ")})` };
    case "number":
      return Number.isInteger(value) || typeof value === "bigint"
        ? { value }
        : { problem: "is not an integer; this key has a variable of its own" };
    case "map":
      return isJsonObject(value) && Object.values(value).every((item) => typeof item === "string")
        ? { value }
        : { problem: "is not an object whose values are texts" };
    case "texts":
      return Array.isArray(value) && value.every((item) => typeof item === "string")
        ? { value }
        : { problem: "is not a list of texts" };
    case "pod-ports":
      return decodePodPorts(value);
    case "object":
      return { value: "" };
  }
}

/** `[{"name":"http","containerPort":80,"protocol":"TCP"}]` as text, written back in one form. */
function decodePodPorts(value: unknown): Decoded {
  if (typeof value !== "string") return { problem: "is not a text that holds a JSON array" };
  if (value === "") return { value: "" };
  let ports: unknown;
  try {
    ports = JSON.parse(value);
  } catch (failure) {
    return { problem: `is not JSON: ${jsonSyntaxError(value) ?? (failure as Error).message}` };
  }
  if (ports === null) return { value: "" };
  if (!Array.isArray(ports) || !ports.every(isPodPort)) {
    return { problem: "is not a JSON array of {name, containerPort, protocol}" };
  }
  const normal = ports.map(({ name, containerPort, protocol }) => ({
    ...(name ? { name } : {}),
    containerPort: containerPort ?? 0,
    protocol: protocol ?? "",
  }));
  return { value: normal.length === 0 ? "" : JSON.stringify(normal) };
}

function isPodPort(value: unknown): value is { name?: string; containerPort?: number; protocol?: string } {
  if (!isJsonObject(value)) return false;
  const { name, containerPort, protocol } = value;
  return (
    (name === undefined || typeof name === "string") &&
    (containerPort === undefined || Number.isInteger(containerPort)) &&
    (protocol === undefined || typeof protocol === "string")
  );
}
