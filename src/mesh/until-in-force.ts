import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import type { NamedObject } from "./apply-objects.ts";
import { isProxyless, type MeshPlan } from "./core/mesh-plan.ts";
import type { MeshParts } from "./mesh-parts.ts";

export interface InForceOptions {
  readonly plan: Pick<MeshPlan, "workloads" | "namespace" | "proxyless">;
  readonly parts: Pick<MeshParts, "status">;
  /** http://HOST:PORT of the control plane's debug pages. */
  readonly controlPlane: string;
  readonly signal: AbortSignal;
  readonly limitMs?: number;
}

/** What is awaited: objects that the control plane has to have, or no longer has. */
export interface Awaited {
  readonly objects: readonly NamedObject[];
  readonly isDelete: boolean;
}

const SECRET = "Secret";
const LIMIT_MS = 10_000;
/** An Envoy that lost the control plane tries again up to 30 s after its last attempt. */
const RECONNECT_MS = 45_000;
/** An object that was taken back may stand in the mesh file as well, and then stays. */
const GONE_MS = 2000;
const POLL_MS = 100;

/**
 * Resolves when the control plane has taken the objects over, has sent everyone what follows from them, and everyone has accepted it;
 * else with who has not, and why. A proxy that refuses goes on with what it had.
 */
export async function untilInForce(awaited: Awaited, options: InForceOptions): Promise<readonly string[]> {
  const start = Date.now();
  const limitMs = options.limitMs ?? LIMIT_MS;
  for (;;) {
    const waitedMs = Date.now() - start;
    const { problems, isFinal, isReconnecting } = await look(awaited, waitedMs, options);
    const ownLimitMs = isReconnecting ? Math.max(limitMs, RECONNECT_MS) : limitMs;
    if (problems.length === 0 || isFinal || waitedMs > ownLimitMs || options.signal.aborted) return problems;
    await wait(POLL_MS, options.signal);
  }
}

interface Look {
  readonly problems: readonly string[];
  /** Waiting longer changes nothing. */
  readonly isFinal?: boolean;
  /** Some proxy has not come back to the control plane. */
  readonly isReconnecting?: boolean;
}

async function look(awaited: Awaited, waitedMs: number, options: InForceOptions): Promise<Look> {
  try {
    const shown = await ask<readonly ShownObject[]>(options, "debug/configz");
    const missing = missingObjects(awaited, waitedMs, [...shown, ...(await shownSecrets(awaited, options))]);
    if (missing.length > 0) return { problems: missing };
    const { pending } = await ask<{ readonly pending: boolean }>(options, "debug/push_status");
    if (pending) return { problems: ["the control plane has not sent it to all proxies yet"] };
    return proxyProblems(options, await ask<readonly ProxyState[]>(options, "debug/syncz"));
  } catch (thrown) {
    return { problems: [`the control plane does not answer: ${errorMessage(thrown)}`] };
  }
}

interface ShownObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec?: unknown;
}

function missingObjects(
  { objects, isDelete }: Awaited,
  waitedMs: number,
  shown: readonly ShownObject[],
): readonly string[] {
  return objects.flatMap(({ kind, namespace, name, text }) => {
    const found = shown.find(
      ({ kind: other, metadata }) => other === kind && metadata.namespace === namespace && metadata.name === name,
    );
    const { spec } = JSON.parse(text) as ShownObject;
    // What a Secret holds is not shown; it has no spec on either side.
    const isThere = found !== undefined && isDeepStrictEqual(found.spec, spec);
    if (isDelete ? !isThere || waitedMs > GONE_MS : isThere) return [];
    return [`${kind} ${namespace}/${name}: the control plane ${isDelete ? "still has it" : "has not taken it over"}`];
  });
}

/** They are held apart from rules; asked for only where one is awaited. */
async function shownSecrets({ objects }: Awaited, options: InForceOptions): Promise<readonly ShownObject[]> {
  if (!objects.some(({ kind }) => kind === SECRET)) return [];
  return (await ask<{ readonly items: readonly ShownObject[] }>(options, `config?kind=${SECRET}`)).items;
}

interface ProxyState {
  /** WORKLOAD.NAMESPACE */
  readonly proxy: string;
  readonly resources: Readonly<Record<string, { readonly status: string; readonly lastError?: string }>>;
}

function proxyProblems({ plan, parts }: InForceOptions, proxies: readonly ProxyState[]): Look {
  // One whose agent does not run gets what is in force when it starts; without Envoy the applications themselves connect, under other names.
  const expected = plan.workloads.filter(
    (workload) => !isProxyless(plan, workload) && parts.status(`${workload.name}/agent`).phase === "running",
  );
  const states = expected.map(({ name }) => ({
    name,
    state: proxies.find(({ proxy }) => proxy === `${name}.${plan.namespace}`),
  }));
  const refused = states.flatMap(({ name, state }) =>
    Object.entries(state?.resources ?? {})
      .filter(([, { status }]) => status === "ERROR")
      .map(([url, { lastError }]) => `${name} refuses it and goes on as before: ${shortType(url)}: ${lastError}`),
  );
  const away = states
    .filter(({ state }) => state === undefined)
    .map(({ name }) => `${name} is not connected to the control plane`);
  const stale = states
    .filter(({ state }) => Object.values(state?.resources ?? {}).some(({ status }) => status === "STALE"))
    .map(({ name }) => `${name} has not acknowledged it yet`);
  return {
    problems: [...refused, ...away, ...stale],
    isFinal: refused.length > 0 && away.length === 0 && stale.length === 0,
    isReconnecting: away.length > 0,
  };
}

function shortType(url: string): string {
  return url.slice(url.lastIndexOf(".") + 1);
}

const ANSWER_MS = 5000;

async function ask<Answer>({ controlPlane, signal }: InForceOptions, page: string): Promise<Answer> {
  const url = `${controlPlane}/${page}`;
  const { status, body } = await httpRequest({ url, timeoutMs: ANSWER_MS, signal, maxBytes: Number.POSITIVE_INFINITY });
  if (status !== 200) throw new Error(`${page} answers ${status}: ${body.trim()}`);
  return JSON.parse(body) as Answer;
}
