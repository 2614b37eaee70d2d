/** What a registry wants to see, from the WWW-Authenticate headers of its 401. */
export type AuthChallenge =
  | { readonly scheme: "basic" }
  | { readonly scheme: "bearer"; readonly realm: string; readonly service: string; readonly scope: string };

/** The first bearer challenge, else basic; undefined when there is neither. */
export function parseChallenges(headers: readonly string[]): AuthChallenge | undefined {
  let basic: AuthChallenge | undefined;
  for (const header of headers) {
    for (const [, scheme = "", rest = ""] of header.slice(0, MAX_HEADER).matchAll(CHALLENGE)) {
      if (scheme.toLowerCase() === "basic") basic ??= { scheme: "basic" };
      if (scheme.toLowerCase() !== "bearer") continue;
      const parameters = new Map(
        [...rest.matchAll(PARAMETER)].map(([, name = "", quoted, bare]) => [name.toLowerCase(), quoted ?? bare ?? ""]),
      );
      const realm = parameters.get("realm");
      if (realm === undefined) continue;
      return {
        scheme: "bearer",
        realm,
        service: parameters.get("service") ?? "",
        scope: parameters.get("scope") ?? "",
      };
    }
  }
  return basic;
}

/** Every realm that is an address, also of challenges that would not be answered. Basic ones are mere titles. */
export function realmsOf(headers: readonly string[]): readonly string[] {
  return headers
    .flatMap((header) => [...header.slice(0, MAX_HEADER).matchAll(/realm="([^"]*)"/gi)])
    .map(([, realm = ""]) => realm)
    .filter((realm) => /^[a-z][a-z0-9+.-]*:/i.test(realm));
}

/** Beyond it nothing is read, so that a hostile header cannot keep the parser busy. */
const MAX_HEADER = 4096;
/** A scheme and its parameters, which are separated by commas like the challenges themselves. */
const CHALLENGE = /(?:^|,)\s*([A-Za-z]+)(?=\s+\w+=|\s*$|\s*,)((?:[\s,]*\w+\s*=\s*(?:"[^"]*"|[^\s,"]+))*)/g;
const PARAMETER = /(\w+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))/g;
