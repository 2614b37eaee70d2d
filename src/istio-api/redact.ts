const KEY = String.raw`["']?access_?token["']?\s*:[ \t]*`;
const VALUE = [
  String.raw`[|>][-+0-9]*[ \t]*\n(?:[ \t]+[^\n]*(?:\n|$))+`, // block text
  String.raw`\n?[ \t]*"(?:[^"\\]|\\.)*"`,
  String.raw`\n?[ \t]*'(?:[^']|'')*'`,
  String.raw`\n[ \t]+[^\n]+`, // plain text on the next line
  String.raw`[^\n,}\]]+`,
].join("|");
const ACCESS_TOKEN = new RegExp(`(${KEY})(?:${VALUE})`, "gi");

/** Configuration text for logs and errors: access tokens of tracing back ends are replaced. */
export function redactConfigText(text: string): string {
  return text.replace(ACCESS_TOKEN, "$1[redacted]");
}

/** True for fields whose value must not be shown. */
export function isSecretField(path: string): boolean {
  return /(?:^|\.)access_?token$/i.test(path);
}
