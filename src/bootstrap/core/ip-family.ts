/** 4 or 6; undefined when the text is no IP address. IPv4-mapped IPv6 text counts as IPv6; a zone (`%eth0`) is allowed. */
export function ipFamily(text: string): 4 | 6 | undefined {
  if (isIpv4(text)) return 4;
  const [address = "", zone] = text.split("%", 2);
  return zone !== "" && isIpv6(address) ? 6 : undefined;
}

/** fe80::/10 */
export function isLinkLocalIpv6(text: string): boolean {
  return ipFamily(text) === 6 && /^fe[89ab]/i.test(text);
}

function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
}

function isIpv6(text: string): boolean {
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const tailIpv4 = last.includes(".");
  if (tailIpv4 && !isIpv4(last)) return false;
  const plain = tailIpv4 ? groups.slice(0, -1) : groups;
  if (!plain.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return false;
  const count = plain.length + (tailIpv4 ? 2 : 0);
  return halves.length === 2 ? count < 8 : count === 8;
}
