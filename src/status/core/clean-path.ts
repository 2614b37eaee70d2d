/** Removes empty, `.` and `..` elements as a file path would; a trailing slash stays. */
export function cleanPath(path: string): string {
  const kept: string[] = [];
  const elements = path.split("/");
  for (const element of elements) {
    if (element === "..") kept.pop();
    else if (element !== "" && element !== ".") kept.push(element);
  }
  const last = elements.at(-1);
  const isFolder = kept.length > 0 && (last === "" || last === "." || last === "..") && path.endsWith("/");
  return `/${kept.join("/")}${isFolder ? "/" : ""}`;
}
