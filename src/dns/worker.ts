import type { MessagePort } from "node:worker_threads";
import { CloseStack } from "../base/close-stack.ts";
import type { LogFields, Logger, LogLevel } from "../base/logger.ts";
import type { HostPort } from "../net/host-port.ts";
import { decodeNameTable } from "../xds/name-table.ts";
import { portOwners } from "./port-owners.ts";
import { createResolver, tableOptions } from "./resolver.ts";
import { createTableUpdater } from "./table-updater.ts";
import type { FromThread, ThreadData, ToThread } from "./thread-messages.ts";
import { createThreadMetrics } from "./thread-metrics.ts";
import { startUdpListener } from "./udp-listener.ts";
import { createUdpSockets } from "./udp-sockets.ts";

/**
 * Answers UDP queries in a worker until the stop message. It binds only once it has a table: from that moment on the kernel gives it its
 * share of the queries. What goes wrong while binding ends the worker; its owner starts another.
 */
export function serveThread(port: MessagePort, data: ThreadData): void {
  const send = (message: FromThread) => port.postMessage(message);
  const log = threadLogger(send, data.debug);
  const opened = new CloseStack();
  const counted = createThreadMetrics((report) => send({ type: "metrics", report }));
  const ports = portOwners(data.ports, data.dnsThread);
  const resolver = createResolver(data.settings, { log, metrics: counted.metrics, ports });
  const sockets = opened.add(createUdpSockets((address) => startUdpListener(address, resolver.handler, log, "join")));
  let addresses: readonly HostPort[] = [];
  let hasTable = false;

  const listen = async () => {
    const { failures } = await sockets.update(addresses);
    if (failures.length > 0) throw failures[0];
  };
  const updater = createTableUpdater(tableOptions(data.settings), (table) => {
    resolver.handler.setTable(table);
    if (!hasTable) void listen().then(() => send({ type: "serving" }));
    hasTable = true;
    send({ type: "table-applied" });
  });
  const stop = async () => {
    updater.stop();
    // As in the main thread: first those who wait get their answer, then the sockets go.
    await resolver.stop();
    await new Promise(setImmediate);
    await opened.close();
    counted.stop();
    port.close();
  };
  port.on("message", (message: ToThread) => {
    if (message.type === "config") resolver.configure(message.config);
    else if (message.type === "addresses") {
      addresses = message.addresses;
      if (hasTable) void listen();
    } else if (message.type === "table") updater.update(decodeNameTable(message.bytes));
    else void stop();
  });
}

/** Lines go to the main thread, which knows where they belong. */
function threadLogger(send: (message: FromThread) => void, debug: Uint8Array): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) =>
      send({ type: "log", level, message, fields });
  const logDebug = at("debug");
  const enabled = (level: LogLevel) => level !== "debug" || debug[0] === 1;
  const logger: Logger = {
    enabled,
    debug: (message, fields) => enabled("debug") && logDebug(message, fields),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    fatal: at("fatal"),
    scope: () => logger,
    with: () => logger,
  };
  return logger;
}
