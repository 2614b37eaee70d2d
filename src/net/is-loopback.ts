/** Decided by the socket's peer, never by headers. An address that is missing or is none counts as remote. */
export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
  if (plain === "::1") return true;
  const octets = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(plain);
  return octets?.slice(1).every((octet) => Number(octet) <= 255) ?? false;
}
