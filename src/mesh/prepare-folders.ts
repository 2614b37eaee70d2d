import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { DevelopmentIssuer } from "../ca/index.ts";
import { BOOTSTRAP_OVERRIDE } from "./core/agent-environment.ts";
import type { MeshPlan, Workload } from "./core/mesh-plan.ts";
import { PROXY_UID } from "./isolation/namespaces.ts";
import { markingBootstrap } from "./isolation/rootless-capture.ts";
import { MeshError } from "./mesh-error.ts";
import type { StateFolder } from "./state/state-folder.ts";

/** Agents read the token again for every signing request, so it is only renewed here. */
export const TOKEN_SECONDS = 24 * 3600;

/** A mesh clears `config`, `logs` and others of its folder: it must not be one that somebody has something else in. */
export function refuseForeignFolder({ path, stateFile, meshConfig, lockFile, upLog }: StateFolder): void {
  let names: readonly string[];
  try {
    names = readdirSync(path);
  } catch {
    // Missing, or reported by the code that creates it.
    return;
  }
  // Another start may be about to take it.
  const foreign = names.find((name) => !name.startsWith(basename(lockFile)) && name !== basename(upLog));
  if (foreign === undefined || existsSync(stateFile) || existsSync(meshConfig)) return;
  const text = `${path} holds ${foreign} and is not the folder of a mesh; choose another --state-dir or --name`;
  throw new MeshError("state", text);
}

/** Every folder that the parts need, with the logs of an earlier run removed. */
export function prepareFolders(folder: StateFolder): void {
  rmSync(folder.logs, { recursive: true, force: true });
  rmSync(folder.config, { recursive: true, force: true });
  for (const path of [folder.path, folder.logs, folder.config, folder.applied, join(folder.path, "workloads")]) {
    mkdirSync(path, { recursive: true });
    // The user that agents run as passes through them.
    chmodSync(path, 0o755);
  }
}

/** An empty one for the workload's agent. */
export function prepareWorkloadFolder(folder: StateFolder, plan: MeshPlan, { name }: Workload): void {
  rmSync(folder.workload(name), { recursive: true, force: true });
  mkdirSync(folder.workload(name), { recursive: true, mode: 0o755 });
  give(folder.workload(name), plan);
  const override = { ...SELDOM_WATCHED, ...(plan.network?.rootless ? markingBootstrap() : {}) };
  writeFileSync(join(folder.workload(name), BOOTSTRAP_OVERRIDE), JSON.stringify(override));
}

const SELDOM = { miss_timeout: "2s", megamiss_timeout: "10s" };
/**
 * Envoy merges it over its bootstrap. By default two threads of each Envoy look five times a second whether the others go on, which is half
 * of what an Envoy without traffic costs: a laptop runs a dozen of them.
 */
const SELDOM_WATCHED = { watchdogs: { main_thread_watchdog: SELDOM, worker_watchdog: SELDOM } };

/** What makes an agent a member: a token of its account and the root it has to find behind the control plane. */
export async function writeIdentity(
  folder: StateFolder,
  plan: MeshPlan,
  workload: Workload,
  source: { readonly issuer: DevelopmentIssuer; readonly rootPem: string },
): Promise<void> {
  const account = { namespace: plan.namespace, name: workload.serviceAccount };
  const token = await source.issuer.issue(account, TOKEN_SECONDS);
  write(folder, plan, workload, "var/run/secrets/tokens/istio-token", token.reveal(), 0o600);
  write(folder, plan, workload, "var/run/secrets/istio/root-cert.pem", source.rootPem, 0o644);
}

function write(
  folder: StateFolder,
  plan: MeshPlan,
  workload: Workload,
  name: string,
  text: string,
  mode: number,
): void {
  const steps = name.split("/");
  let path = folder.workload(workload.name);
  for (const step of steps.slice(0, -1)) {
    path = join(path, step);
    mkdirSync(path, { recursive: true, mode: 0o755 });
    give(path, plan);
  }
  path = join(path, steps.at(-1) ?? "");
  writeFileSync(path, text, { mode });
  give(path, plan);
}

function give(path: string, plan: MeshPlan): void {
  if (plan.network?.rootless === false) chownSync(path, PROXY_UID, PROXY_UID);
}
