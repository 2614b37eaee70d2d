/**
 * The documents of a YAML stream as the Kubernetes tools cut it: at lines that are `---` and nothing more (a comment may follow). Such
 * a line before any content is the first line of its document. Line ends become LF, a missing last one is added.
 */
export function splitText(text: string): readonly string[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  const documents: string[] = [];
  let current: string[] = [];
  for (const line of lines) {
    if (/^---\s*(?:#.*)?$/.test(line) && current.length > 0) {
      documents.push(`${current.join("\n")}\n`);
      current = [];
    } else current.push(line);
  }
  if (current.length > 0) documents.push(`${current.join("\n")}\n`);
  return documents;
}
