import { errorMessage } from "../../base/coded-error.ts";
import type { Handle } from "../../base/handle.ts";
import type { PodSubject, ReviewedPod, SettingsSources } from "../../inject/index.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import { type Ask, startTaskThread } from "../../process/start-task-thread.ts";
import {
  type FromReviewThread,
  REVIEW_THREAD,
  type SentCircumstances,
  type ToReviewThread,
} from "./review-messages.ts";
import type { ReviewedRule } from "./review-rule.ts";

/** As much as the largest body that is taken becomes when it is read, twice. */
const MAX_HEAP_MB = 512;
/** Large objects are rare and come in bursts: of a rollout, of a pipeline. */
const IDLE_MS = 5000;

export interface ReviewThread extends Pick<Handle, "stop"> {
  /** The answer to the body of a review of a rule. Rejects when the thread cannot answer. */
  rule(body: Buffer): Promise<Answered<ReviewedRule>>;
  pod(body: Buffer, path: string, sources: PodSources): Promise<Answered<ReviewedPod>>;
}

export interface Answered<Reviewed> {
  readonly answer: string;
  /** Absent where the body was no review. */
  readonly reviewed: Reviewed | undefined;
}

export interface PodSources {
  /** Those in force; throws where there are none. */
  settings(): SettingsSources;
  circumstances(subject: Omit<PodSubject, "labels">): SentCircumstances;
}

/** Reviews large objects, so that xDS, CA and `/ready` are served meanwhile, and other reviews. One after another. */
export function startReviewThread(url: URL): ReviewThread {
  const thread = startTaskThread<ToReviewThread, FromReviewThread>({
    url,
    data: REVIEW_THREAD,
    maxHeapMb: MAX_HEAP_MB,
    idleMs: IDLE_MS,
  });
  const numberOf = createNumbers();
  return {
    rule: (body) =>
      thread.run(async (ask) => {
        const { answer, rule } = answered(await ask({ type: "rule", body }));
        return { answer, reviewed: rule };
      }),
    pod: (body, path, sources) =>
      thread.run(async (ask) => {
        const first = await ask({ type: "pod", body, path });
        const { answer, pod } = answered(
          first.type === "pod-read" ? await goOn(ask, first.subject, first.settings, sources, numberOf) : first,
        );
        return { answer, reviewed: pod };
      }),
    stop: () => thread.stop(),
  };
}

function goOn(
  ask: Ask<ToReviewThread, FromReviewThread>,
  subject: Omit<PodSubject, "labels">,
  known: number | undefined,
  sources: PodSources,
  numberOf: (sources: object) => number,
): Promise<FromReviewThread> {
  const circumstances = sources.circumstances(subject);
  let given: SettingsSources;
  try {
    given = sources.settings();
  } catch (thrown) {
    return ask({
      type: "circumstances",
      settings: { number: 0, sources: { problem: errorMessage(thrown) } },
      circumstances,
    });
  }
  const number = numberOf(given);
  const settings = number === known ? { number } : { number, sources: plainSources(given) };
  return ask({ type: "circumstances", settings, circumstances });
}

function answered(message: FromReviewThread) {
  if (message.type === "answered") return message;
  throw new Error(message.type === "failed" ? message.error : `the thread says ${message.type} where it has to answer`);
}

/** Numbers for values, from one. */
function createNumbers(): (value: object) => number {
  const numbers = new WeakMap<object, number>();
  let last = 0;
  return (value) => {
    const number = numbers.get(value) ?? ++last;
    numbers.set(value, number);
    return number;
  };
}

/** The rules may be part of a larger value with functions, and the environment that of the process: neither can be sent. */
function plainSources(sources: SettingsSources): SettingsSources {
  return { ...sources, env: { ...sources.env }, proxyConfigRules: plainRules(sources.proxyConfigRules) };
}

function plainRules({
  mergesProxyMetadata,
  mergesProxyHeaders,
  defaultTracing,
  legacyProxyConfigDefaults,
  validatesStatusPort,
  validatesParentShutdown,
  validatesConnectionSettings,
  privateKeyProviderPrefix,
}: ProxyConfigRules): ProxyConfigRules {
  return {
    mergesProxyMetadata,
    mergesProxyHeaders,
    defaultTracing,
    legacyProxyConfigDefaults,
    validatesStatusPort,
    validatesParentShutdown,
    validatesConnectionSettings,
    privateKeyProviderPrefix,
  };
}
