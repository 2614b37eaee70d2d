export interface RequestTarget {
  /** As sent, escapes included. */
  readonly path: string;
  readonly query: string;
}

/** The path of a request line's target; clients that take us for a proxy send a whole URL. Undefined when it is not a path. */
export function splitTarget(target: string): RequestTarget | undefined {
  const [path = "", ...query] = target.replace(/^https?:\/\/[^/?]*/i, "").split("?");
  const isPath = path.startsWith("/") || (path === "" && target !== "");
  return isPath ? { path, query: query.join("?") } : undefined;
}

/** The path with its escapes resolved, undefined when one is malformed. An escaped slash stays: it does not divide. */
export function decodedPath(path: string): string | undefined {
  if (!path.includes("%")) return path;
  if (/%(?![0-9a-f]{2})/i.test(path)) return undefined;
  const bytes = path.replace(/%(?!2f)(..)/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}

/** Removes empty, `.` and `..` elements as a file path would; a trailing slash stays. */
export function cleanPath(path: string): string {
  const clean: string[] = [];
  const elements = path.split("/");
  for (const element of elements) {
    if (element === "..") clean.pop();
    else if (element !== "" && element !== ".") clean.push(element);
  }
  const last = elements.at(-1);
  const isFolder = clean.length > 0 && (last === "" || last === "." || last === "..") && path.endsWith("/");
  return `/${clean.join("/")}${isFolder ? "/" : ""}`;
}
