import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../base/json-object.ts";
import type { ExplainedResource, ExplainedType } from "./resources-of.ts";

/** How what one proxy is sent differs. */
export interface ResourceChange {
  readonly type: ExplainedType;
  readonly name: string;
  readonly change: "added" | "removed" | "changed";
  /** Of a changed resource: members that differ, `virtualHosts[web.prod:80].routes[0].timeout: "0s" -> "2s"`. */
  readonly members: readonly string[];
}

/** In the order of types and names; empty when a proxy would be sent nothing. */
export function compareResources(
  before: readonly ExplainedResource[],
  after: readonly ExplainedResource[],
): readonly ResourceChange[] {
  const keyOf = ({ type, name }: ExplainedResource) => `${type} ${name}`;
  const known = new Map(before.map((resource) => [keyOf(resource), resource]));
  const next = new Map(after.map((resource) => [keyOf(resource), resource]));
  const changes: ResourceChange[] = [];
  for (const { type, name, version, value } of after) {
    const old = known.get(`${type} ${name}`);
    if (old === undefined) changes.push({ type, name, change: "added", members: [] });
    else if (old.version !== version) {
      changes.push({ type, name, change: "changed", members: [...differences("", old.value, value)] });
    }
  }
  for (const { type, name } of before) {
    if (!next.has(`${type} ${name}`)) changes.push({ type, name, change: "removed", members: [] });
  }
  return changes;
}

function* differences(path: string, before: unknown, after: unknown): Generator<string> {
  if (isDeepStrictEqual(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    yield* compareLists(path, before, after);
  } else if (isJsonObject(before) && isJsonObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      yield* differences(path === "" ? name : `${path}.${name}`, before[name], after[name]);
    }
  } else yield `${path}: ${shown(before)} -> ${shown(after)}`;
}

/** Elements with names are the same one by name, so that one more at the front does not look like a change of all. */
function* compareLists(path: string, before: readonly unknown[], after: readonly unknown[]): Generator<string> {
  const names = [before, after].map((list) => list.map(nameOf));
  const isNamed = names.every((list) => list.every((name) => name !== undefined) && new Set(list).size === list.length);
  if (!isNamed) {
    for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
      yield* differences(`${path}[${at}]`, before[at], after[at]);
    }
    return;
  }
  const old = new Map(before.map((element) => [nameOf(element), element]));
  const next = new Map(after.map((element) => [nameOf(element), element]));
  for (const [name, element] of old) {
    if (!next.has(name)) yield `${path}[${name}]: ${shown(element)} -> (none)`;
  }
  for (const [name, element] of next) yield* differences(`${path}[${name}]`, old.get(name), element);
}

function nameOf(value: unknown): string | undefined {
  const name = isJsonObject(value) ? value.name : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}

const MAX_SHOWN = 160;

function shown(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}
