/** A target as a client spells it. */
export interface Target {
  readonly spelling: string;
  /** Undefined: every port of the host. */
  readonly port?: number;
}

export function parseTarget(name: string): Target {
  const [, spelling, digits = ""] = /^([^:]+):(\d{1,5})$/.exec(name) ?? [];
  return spelling === undefined ? { spelling: name } : { spelling, port: Number(digits) };
}

/** The full name of a host that callers of a domain may shorten, as a resolver with that domain in its search list would. */
export function fullHost(spelling: string, callerDomain: string): string {
  if (!spelling.includes(".")) return callerDomain === "" ? spelling : `${spelling}.${callerDomain}`;
  const [namespace = "", service = "", ...domain] = callerDomain.split(".");
  const [name = "", ...rest] = spelling.split(".");
  const ending = [namespace, service, ...domain];
  const isShort = rest.join(".") === namespace || rest.join(".") === `${namespace}.${service}`;
  return isShort && domain.length > 0 ? [name, ...ending].join(".") : spelling;
}
