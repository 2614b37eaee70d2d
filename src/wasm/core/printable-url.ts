/** For logs and errors: user names and query strings of an address may be credentials, as in signed links. */
export function printableUrl(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@(?!sha\d+:[0-9a-f]{32})/i, "$1")
    .replace(/\?.*$/s, "?[redacted]")
    .slice(0, MAX_LENGTH);
}

const MAX_LENGTH = 500;
