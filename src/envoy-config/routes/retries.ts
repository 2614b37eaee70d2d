import type { HttpRetries } from "../../istio-api/specs.ts";
import { constantMessage, pack } from "../../protobuf/envoy/index.ts";
import type { RetryPolicy } from "../../protobuf/gen/envoy/config/route/v3.ts";

/** Only failures in which the request cannot have had an effect. */
const DEFAULT_RETRY_ON = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes";
const STATUS_CODES = "retriable-status-codes";

/** Each retry goes to a host that was not tried before, as long as one is found within five draws. */
const OTHER_HOSTS = [
  {
    name: "envoy.retry_host_predicates.previous_hosts",
    typedConfig: pack("envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate", {}),
  },
];

const OTHER_PRIORITIES = {
  name: "envoy.retry_priorities.previous_priorities",
  typedConfig: pack("envoy.extensions.retry.priority.previous_priorities.v3.PreviousPrioritiesConfig", {
    updateFrequency: 2,
  }),
};

/** What holds for requests that no rule says anything about; one value for all routes. */
export const DEFAULT_RETRY_POLICY = constantMessage<RetryPolicy>({
  numRetries: 2,
  retryOn: DEFAULT_RETRY_ON,
  retryHostPredicate: OTHER_HOSTS,
  hostSelectionRetryMaxAttempts: "5",
});

/** The same host again, where a hash of the request decides on it. */
const STICKY_RETRY_POLICY = constantMessage<RetryPolicy>(without(DEFAULT_RETRY_POLICY));

/** `isHashed`: the destination is chosen by a hash of the request. Undefined: no retries. */
export function buildRetryPolicy(retries: HttpRetries | undefined, isHashed: boolean): RetryPolicy | undefined {
  if (retries === undefined) return isHashed ? STICKY_RETRY_POLICY : DEFAULT_RETRY_POLICY;
  if (retries.attempts <= 0) return undefined;
  const avoidsPrevious = retries.retryIgnorePreviousHosts ?? !isHashed;
  return {
    ...(avoidsPrevious ? DEFAULT_RETRY_POLICY : STICKY_RETRY_POLICY),
    numRetries: retries.attempts,
    ...buildConditions(retries.retryOn),
    ...(isPositive(retries.perTryTimeout) && { perTryTimeout: retries.perTryTimeout }),
    ...(isPositive(retries.backoff) && { retryBackOff: { baseInterval: retries.backoff } }),
    ...(retries.retryRemoteLocalities && { retryPriority: OTHER_PRIORITIES }),
  };
}

/** Numbers among the conditions are status codes, which need a condition of their own to count. */
function buildConditions(retryOn: string): RetryPolicy {
  const words = retryOn.split(",").flatMap((word) => word.trim() || []);
  if (words.length === 0) return {};
  const codes = words.filter((word) => /^\d+$/.test(word)).map(Number);
  const conditions = words.filter((word) => !/^\d+$/.test(word));
  if (codes.length > 0 && !conditions.includes(STATUS_CODES)) conditions.push(STATUS_CODES);
  return { retryOn: conditions.join(","), ...(codes.length > 0 && { retriableStatusCodes: codes }) };
}

function isPositive(duration: string | undefined): duration is string {
  return duration !== undefined && Number.parseFloat(duration) > 0;
}

function without({ retryHostPredicate: _predicate, ...rest }: RetryPolicy): RetryPolicy {
  return rest;
}
