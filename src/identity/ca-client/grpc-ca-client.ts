import { errorMessage } from "../../base/coded-error.ts";
import { tlsLimits } from "../../net/tls/compliance-policy.ts";
import { createBundleWarnings } from "../../protocol/x509/trust-bundle.ts";
import type { CaClientOptions } from "./ca-client-options.ts";
import { readConnectionMaterial, tlsCredentials } from "./connection-material.ts";
import { openConnections } from "./connections.ts";
import { caEndpoint } from "./core/endpoint.ts";
import { joinSignals } from "./joined-signal.ts";
import { type CaProtocol, type CaSession, signOver } from "./sign-over.ts";
import type { CaClient } from "./types.ts";

const DEFAULT_ATTEMPT_TIMEOUT_MS = 10_000;
const WINDOW_BYTES = 1024 * 1024;
/** Thousands of roots; what is larger is not a chain, and must not fill a sidecar's memory. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** A client of a CA that is reached by gRPC. Connects when first used; rejects when the roots cannot be used. */
export async function startGrpcCaClient(options: CaClientOptions, protocol: CaProtocol): Promise<CaClient> {
  const { log, attemptTimeoutMs = DEFAULT_ATTEMPT_TIMEOUT_MS, now = () => new Date() } = options;
  const endpoint = caEndpoint(options.endpoint, options.serverName);
  const rootName = options.rootFile === "" ? (options.systemRootFile ?? "system") : options.rootFile;
  const onRoots = createBundleWarnings(log);
  const material = () => readConnectionMaterial({ ...options, onRoots }, log, now());
  if (endpoint.plaintext) log.warn("Debug mode or IP-secure network");
  else await material();
  const limits = options.compliancePolicy === undefined ? {} : tlsLimits(options.compliancePolicy);
  const connections = openConnections(endpoint.target, {
    ...(endpoint.plaintext ? {} : { tls: async () => tlsCredentials(await material(), endpoint.serverName, limits) }),
    authority: endpoint.authority,
    connectTimeoutMs: attemptTimeoutMs,
    windowBytes: WINDOW_BYTES,
    maxReceiveBytes: MAX_ANSWER_BYTES,
    ...(options.connect === undefined ? {} : { connect: options.connect }),
    ...(options.keepalive === undefined ? {} : { keepalive: options.keepalive }),
  });
  const target = { endpoint: options.endpoint, serverName: endpoint.serverName, rootName };
  const session: CaSession = { protocol, options, target, connections, attemptTimeoutMs, now };
  const closed = new AbortController();
  return {
    sign: async (csrPem, ttlSeconds, signal) => {
      const joined = joinSignals([signal, closed.signal]);
      try {
        const fingerprint = endpoint.plaintext ? "" : (await material()).fingerprint;
        return await signOver(session, { csrPem, ttlSeconds }, fingerprint, joined.signal);
      } catch (failure) {
        // Cancelled: the agent is stopping, or the timeout was logged already.
        const level = joined.signal.aborted ? "debug" : "error";
        log[level](`failed to sign CSR: ${errorMessage(failure)}`);
        throw failure;
      } finally {
        joined.release();
      }
    },
    close: async () => {
      closed.abort();
      await connections.close();
    },
  };
}
