/** What a CA gave for one CSR; every check of the CA client has passed. */
export interface SignedCertificate {
  /** PEM elements as the CA sent them: leaf first, then intermediates, the root bundle (possibly several certificates) last. */
  readonly chain: readonly string[];
  /** PEM texts of the trust bundle: the CA's own bundle if it publishes one, else the last element of the chain. */
  readonly roots: readonly string[];
  /** Validity of the leaf. */
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Signs workload certificates. One client serves the whole process; calls may overlap. */
export interface CaClient {
  /**
   * Rejects with a `CaError`; retries of the protocol are already spent by then. Aborting the signal rejects with code "cancelled".
   * `ttlSeconds` is what is asked for, the CA may give less.
   */
  sign(csrPem: string, ttlSeconds: number, signal: AbortSignal): Promise<SignedCertificate>;
  /** Idempotent; open calls are cancelled and no socket is left. */
  close(): Promise<void>;
}
