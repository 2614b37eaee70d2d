import { KUBERNETES_TYPES } from "./kubernetes-types.ts";

export type ScalarCode = "s" | "i" | "b" | "q" | "x" | "t" | "any";

export type MemberType =
  | { readonly kind: "scalar"; readonly code: ScalarCode; readonly pointer: boolean }
  | { readonly kind: "struct"; readonly name: string; readonly pointer: boolean }
  | { readonly kind: "list" | "map"; readonly item: MemberType; readonly pointer: false };

export interface Member {
  readonly name: string;
  /** Its place in the declaration. */
  readonly index: number;
  readonly goName: string;
  readonly type: MemberType;
  /** Printed also when it is empty. */
  readonly isAlwaysPrinted: boolean;
  /** Has no printed form when it is not there. */
  readonly isOptional: boolean;
  /** How a strategic merge finds an item of the list again; empty text for lists that are sets. */
  readonly mergeKey: string | undefined;
}

export interface KubernetesType {
  readonly name: string;
  readonly members: ReadonlyMap<string, Member>;
  /** Those that have a printed form also when they are not there. */
  readonly required: readonly Member[];
}

let parsed: ReadonlyMap<string, KubernetesType> | undefined;

/** A type of the Kubernetes API by its Go name, for example `PodSpec`. */
export function kubernetesType(name: string): KubernetesType {
  parsed ??= parseTypes(KUBERNETES_TYPES);
  const type = parsed.get(name);
  if (type === undefined) throw new Error(`no Kubernetes type named ${name}`);
  return type;
}

function parseTypes(text: string): ReadonlyMap<string, KubernetesType> {
  const types = new Map<string, KubernetesType>();
  for (const line of text.replaceAll("\n  ", " ").trim().split("\n")) {
    const [name = "", ...texts] = line.split(" ");
    const members = texts.map(parseMember);
    types.set(name, {
      name,
      members: new Map(members.map((member) => [member.name, member])),
      required: members.filter(({ isOptional }) => !isOptional),
    });
  }
  return types;
}

function parseMember(text: string, index: number): Member {
  const [, name = "", goName, type = "", always, , mergeKey] =
    /^(\w+)(?:=(\w+))?:([*[{\w]+)(!?)(@(\w*))?~?$/.exec(text) ?? [];
  const parsedType = parseType(type);
  return {
    name,
    index,
    goName: goName ?? name.slice(0, 1).toUpperCase() + name.slice(1),
    type: parsedType,
    isAlwaysPrinted: always === "!",
    isOptional: always !== "!" && isOptionalType(parsedType),
    mergeKey,
  };
}

function isOptionalType(type: MemberType): boolean {
  if (type.pointer || type.kind === "list" || type.kind === "map") return true;
  return type.kind === "scalar" && (type.code === "s" || type.code === "i" || type.code === "b" || type.code === "any");
}

const SCALARS: ReadonlySet<string> = new Set<ScalarCode>(["s", "i", "b", "q", "x", "t", "any"]);

function parseType(text: string): MemberType {
  if (text.startsWith("[")) return { kind: "list", item: parseType(text.slice(1)), pointer: false };
  if (text.startsWith("{")) return { kind: "map", item: parseType(text.slice(1)), pointer: false };
  const pointer = text.startsWith("*");
  const name = pointer ? text.slice(1) : text;
  if (SCALARS.has(name)) return { kind: "scalar", code: name as ScalarCode, pointer };
  return { kind: "struct", name, pointer };
}
