/** Namespaces that an object is visible to: `*` all, `.` its own, `~` none, else the one of that name. */
export type ExportTo = readonly string[];

/** An absent list means the mesh's default, which is passed in already chosen for the kind. */
export function isVisibleTo(
  exportTo: ExportTo,
  ownNamespace: string,
  namespace: string,
  meshDefault: ExportTo = ["*"],
): boolean {
  const entries = exportTo.length === 0 ? meshDefault : exportTo;
  return entries.some((entry) => entry === "*" || (entry === "." ? ownNamespace : entry) === namespace);
}

export function isPublic(exportTo: ExportTo, meshDefault: ExportTo = ["*"]): boolean {
  return (exportTo.length === 0 ? meshDefault : exportTo).includes("*");
}

/** Visible in its own namespace only. */
export function isPrivate(exportTo: ExportTo, ownNamespace: string, meshDefault: ExportTo = ["*"]): boolean {
  const entries = exportTo.length === 0 ? meshDefault : exportTo;
  return entries.every((entry) => entry === "." || entry === "~" || entry === ownNamespace);
}

/** Equal for lists of the same namespaces in any order and spelling. */
export function exportToKey(exportTo: ExportTo, ownNamespace: string, meshDefault: ExportTo = ["*"]): string {
  const entries = exportTo.length === 0 ? meshDefault : exportTo;
  return [...new Set(entries.map((entry) => (entry === "." ? ownNamespace : entry)))].sort().join(",");
}
