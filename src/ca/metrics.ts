import type { Counter, MetricRegistry } from "../base/metric-registry.ts";

export interface CaServerMetrics {
  readonly csrs: Counter;
  readonly authenticationFailures: Counter;
  /** Label: error. */
  readonly signFailures: Counter;
  readonly issued: Counter;
  /** Where the expiry gauges read at each scrape. */
  setExpirySource(read: () => CaExpiry): void;
}

/** Undefined where there is no such certificate, which reports nothing. */
export interface CaExpiry {
  readonly root: Date | undefined;
  readonly chain: Date | undefined;
}

export function declareCaServerMetrics(registry: MetricRegistry, now: () => number = Date.now): CaServerMetrics {
  let read: () => CaExpiry = () => ({ root: undefined, chain: undefined });
  const expiry = (name: string, help: string, value: () => Date | undefined) => {
    const seconds = (date: Date | undefined, since: number) =>
      date === undefined ? undefined : (date.getTime() - since) / 1000;
    registry.gaugeOf({ name: `${name}_timestamp`, help: `The unix timestamp, in seconds, when ${help}.` }, () =>
      seconds(value(), 0),
    );
    registry.gaugeOf({ name: `${name}_seconds`, help: `The time remaining, in seconds, before ${help}.` }, () =>
      seconds(value(), now()),
    );
  };
  expiry("citadel_server_root_cert_expiry", "the CA's root certificate expires", () => read().root);
  expiry("citadel_server_cert_chain_expiry", "the CA's certificate chain expires", () => read().chain);
  // Operators' dashboards list both although nothing has ever counted them.
  registry.counter({ name: "citadel_server_csr_parsing_err_count", help: "Number of CSRs that could not be parsed." });
  registry.counter({ name: "citadel_server_id_extraction_err_count", help: "Number of failed identity extractions." });
  return {
    csrs: registry.counter({ name: "citadel_server_csr_count", help: "The number of CSRs received by the CA." }),
    authenticationFailures: registry.counter({
      name: "citadel_server_authentication_failure_count",
      help: "The number of authentication failures.",
    }),
    signFailures: registry.counter({
      name: "citadel_server_csr_sign_err_count",
      help: "The number of errors that occurred when signing a CSR.",
      labels: ["error"],
    }),
    issued: registry.counter({
      name: "citadel_server_success_cert_issuance_count",
      help: "The number of certificates issued.",
    }),
    setExpirySource: (source) => {
      read = source;
    },
  };
}
