import type { PatchOperation } from "./json-patch.ts";

type Container = Record<string, unknown> & unknown[];

/** RFC 6902 as an API server applies it: rejects an operation whose target is not there. */
export function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  const root = { "": structuredClone(document) } as unknown as Container;
  for (const operation of operations) {
    const parts = operation.path.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = parts.pop() ?? "";
    let target = root;
    for (const part of parts) {
      if (!Object.hasOwn(target, part)) throw new Error(`no ${operation.path}`);
      target = target[part as never] as Container;
    }
    if (operation.op !== "add" && !Object.hasOwn(target, last)) throw new Error(`no ${operation.path}`);
    if (operation.op === "add" && Array.isArray(target) && Number(last) > target.length)
      throw new Error(`no ${operation.path}`);
    if (Array.isArray(target)) {
      const at = last === "-" ? target.length : Number(last);
      if (operation.op === "add") target.splice(at, 0, structuredClone(operation.value));
      else if (operation.op === "remove") target.splice(at, 1);
      else target[at] = structuredClone(operation.value);
    } else if (operation.op === "remove") delete target[last];
    else (target as Record<string, unknown>)[last] = structuredClone(operation.value);
  }
  return root["" as never];
}
