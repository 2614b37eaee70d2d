import { connect, createServer, type Server } from "node:net";
import { abortAfter } from "../base/abort-after.ts";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import { joinHostPort } from "../net/host-port.ts";
import { runProgram } from "../process/run-program.ts";
import { buildRules } from "./core/build-rules.ts";
import { outboundProbe, type ProbeFamily, probeFamilies } from "./core/probe-plan.ts";
import type { OwnerNames } from "./core/rule-key.ts";
import { type CaptureSettings, splitList } from "./core/settings.ts";

export interface ValidationOptions {
  readonly settings: CaptureSettings;
  readonly probePort: number;
  readonly timeoutMs: number;
  readonly uid: number;
  readonly gid: number;
  /** Numbers of the users and groups that the settings name. */
  readonly names: OwnerNames;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const RETRY_MS = 1000;

/**
 * Proves with real connections that the rules work: each family, inbound as the proxy's user, outbound as anybody else. Which listener a
 * connection reached is known by the client's port, as Node cannot ask for the original destination. Resolves to what failed.
 */
export async function validateCapture(options: ValidationOptions): Promise<readonly string[]> {
  const { settings, log } = options;
  log.info(
    "Starting iptables validation. This check verifies that iptables rules are properly established for the network.",
  );
  const outcomes = await Promise.all(probeFamilies(settings).map((family) => validateFamily(family, options)));
  return outcomes.flat();
}

async function validateFamily(family: ProbeFamily, options: ValidationOptions): Promise<readonly string[]> {
  const { settings, log, uid, gid } = options;
  await using opened = new CloseStack();
  const arrivals = new Map<number, Set<number>>();
  const ports = [Number(settings.proxyPort), Number(settings.inboundCapturePort)];
  const listening: number[] = [];
  for (const port of ports) {
    const server = await listen(family.listen, port, arrivals, log);
    if (server === undefined) continue;
    opened.defer(() => closeServer(server));
    listening.push(port);
  }
  if (listening.length === 0) {
    return [`no listener available: ${ports.map((port) => `${family.listen}:${port}`).join(",")}`];
  }
  const { users, groups } = options.names;
  const proxyUids = splitList(settings.proxyUid).map((id) => users.get(id) ?? id);
  const proxyGids = splitList(settings.proxyGid).map((id) => groups.get(id) ?? id);
  const [proxyUid = "1337"] = proxyUids;
  const isProxy = proxyUids.includes(String(uid)) || proxyGids.includes(String(gid));
  if (!isProxy && uid === 0 && !/^\d+$/.test(proxyUid)) {
    return [`${family.name} inbound: there is no user ${proxyUid} on this machine to connect as`];
  }
  const inbound: Probe = {
    name: `${family.name} inbound`,
    listen: family.listen,
    from: family.listen,
    to: { host: family.inboundTarget, port: options.probePort },
    expect: Number(settings.inboundCapturePort),
    ...(isProxy || uid !== 0 ? {} : { uid: Number(proxyUid) }),
  };
  const probes = [inbound, ...outbound(family, options, isProxy)];
  const failures = await Promise.all(probes.map((probe) => attempt(probe, arrivals, listening, options)));
  return failures.filter((failure) => failure !== undefined);
}

interface Probe {
  readonly name: string;
  readonly listen: string;
  readonly from?: string;
  readonly to: { readonly host: string; readonly port: number };
  /** The listener that the connection has to reach. */
  readonly expect: number;
  /** Connect as this user, in a process of its own. */
  readonly uid?: number;
}

/** Only a user that is captured can prove outbound capture, and only towards a destination that the rules capture. */
function outbound(family: ProbeFamily, options: ValidationOptions, isProxy: boolean): readonly Probe[] {
  const { settings, log, uid, gid, probePort } = options;
  if (isProxy) {
    log.info(
      `${family.name} outbound is not checked: this process runs as the proxy, whose own traffic is not captured`,
    );
    return [];
  }
  const host = outboundProbe(buildRules(settings), settings, {
    family,
    uid,
    gid,
    port: probePort,
    names: options.names,
  });
  if (host === undefined) {
    log.info(`${family.name} outbound is not checked: the rules capture no destination for this user`);
    return [];
  }
  const { listen } = family;
  const to = { host, port: probePort };
  return [{ name: `${family.name} outbound`, listen, to, expect: Number(settings.proxyPort) }];
}

async function attempt(
  probe: Probe,
  arrivals: ReadonlyMap<number, ReadonlySet<number>>,
  listening: readonly number[],
  { timeoutMs, signal, log }: ValidationOptions,
): Promise<string | undefined> {
  if (!listening.includes(probe.expect)) return `${probe.name}: nothing could listen on port ${probe.expect}`;
  using limit = abortAfter(Math.max(1, timeoutMs), signal);
  const stop = limit.signal;
  const target = joinHostPort(probe.to.host, probe.to.port);
  let last = "no connection was made";
  while (!stop.aborted) {
    const result = await (probe.uid === undefined ? connectOnce(probe, stop) : connectAs(probe, stop));
    if (typeof result === "number") {
      // The listener may see the connection a moment later than the client.
      for (let tries = 0; tries < 20 && !stop.aborted; tries += 1) {
        const reached = [...arrivals].find(([, clients]) => clients.has(result))?.[0];
        if (reached === probe.expect) {
          log.info(`Local addr ${joinHostPort(probe.listen, reached)}`);
          // The blank belongs to it: who greps for the line has known no other.
          log.info(`Original addr ${probe.from ?? probe.to.host}: ${probe.to.port}`);
          return undefined;
        }
        if (reached !== undefined)
          last = `the connection to ${target} arrived at port ${reached}, expected ${probe.expect}`;
        await wait(10, stop);
      }
    } else {
      last = `Error connecting to ${target}: ${result}`;
      log.info(last);
    }
    if (!stop.aborted) await wait(RETRY_MS, stop);
  }
  return `${probe.name}: ${last}`;
}

/** Resolves to the client's port, or to the reason why there was no connection. */
function connectOnce({ from, to }: Probe, signal: AbortSignal): Promise<number | string> {
  return new Promise((resolve) => {
    const socket = connect({
      host: to.host,
      port: to.port,
      ...(from === undefined ? {} : { localAddress: from }),
      signal,
    });
    socket.on("connect", () => {
      resolve(socket.localPort ?? "the connection has no local port");
      socket.destroy();
    });
    socket.on("error", (error) => resolve(errorMessage(error)));
  });
}

/** Values go into the program as JSON text, so they cannot be anything but values. */
function clientProgram({ from, to }: Probe): string {
  const options = { host: to.host, port: to.port, ...(from === undefined ? {} : { localAddress: from }) };
  return `const socket = require("node:net").connect(${JSON.stringify(options)});
socket.on("connect", () => { console.log(socket.localPort); socket.destroy(); });
socket.on("error", (error) => console.log(error.message));`;
}

async function connectAs(probe: Probe, signal: AbortSignal): Promise<number | string> {
  const { uid = 0 } = probe;
  const args = ["-e", clientProgram(probe)];
  const { stdout, error } = await runProgram(process.execPath, args, { user: { uid, gid: uid }, signal, cwd: "/" });
  // Node takes ids of 31 bits only.
  if (error?.code === "ERR_OUT_OF_RANGE" || error?.code === "ERR_INVALID_ARG_TYPE")
    return `cannot become user ${uid}: ${error.message}`;
  if (error !== undefined) return error.message;
  if (signal.aborted) return "The operation was aborted";
  return /^\d+\s*$/.test(stdout) ? Number(stdout) : stdout.trim() || "the client ended without output";
}

/** A port that cannot be bound is reported and left out: the other one may still do. */
async function listen(
  host: string,
  port: number,
  arrivals: Map<number, Set<number>>,
  log: Logger,
): Promise<Server | undefined> {
  const clients = new Set<number>();
  arrivals.set(port, clients);
  log.info(`Listening on ${joinHostPort(host, port)}`);
  const server = createServer((socket) => {
    clients.add(socket.remotePort ?? 0);
    socket.on("error", () => undefined);
    socket.end();
    socket.resume();
  });
  try {
    await new Promise<void>((resolve, reject) => {
      // It stays: a connection that cannot be accepted is one that did not arrive, and no more.
      server.on("error", reject);
      server.listen({ host, port }, resolve);
    });
    return server;
  } catch (thrown) {
    log.error(`Error on listening: ${errorMessage(thrown)}`);
    return undefined;
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
