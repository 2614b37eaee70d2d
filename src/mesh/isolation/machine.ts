import { connect, type Server, Socket } from "node:net";
import type { ChildProcess } from "../../process/spawn-program.ts";
import { listen } from "../process/free-ports.ts";

/** The machine's own network, which `mesh up` itself may not be in. */
export interface Machine {
  listen(port: number, host: string): Promise<Server>;
  /** Not yet connected, or already. */
  connect(port: number, host: string): Promise<Socket>;
}

export const OWN_NETWORK: Machine = {
  listen,
  connect: async (port, host) => connect(port, host),
};

interface Request {
  readonly id: number;
  readonly what: "listen" | "connect";
  readonly port: number;
  readonly host: string;
}

interface Reply {
  readonly id: number;
  readonly code?: string;
  readonly message?: string;
}

/**
 * Serves a `mesh up` in a network namespace of its own: listens and connects on this machine and hands the sockets over, which stay in the
 * network where they were made.
 */
export function serveMachine(child: ChildProcess): void {
  child.on("message", (message) => {
    const { id, what, port, host } = message as Request;
    const reply = (answer: Omit<Reply, "id">, handle?: Server | Socket) =>
      child.connected &&
      child.send({ id, ...answer } satisfies Reply, handle, () => handle instanceof Socket || handle?.close());
    const refuse = (thrown: NodeJS.ErrnoException) => reply({ code: thrown.code ?? "EIO", message: thrown.message });
    if (what === "listen") {
      listen(port, host).then((server) => reply({}, server), refuse);
      return;
    }
    const socket = connect({ port, host, allowHalfOpen: true });
    socket.pause();
    socket.once("error", refuse);
    socket.once("connect", () => {
      socket.off("error", refuse);
      reply({}, socket);
    });
  });
}

/** What a process has that was started with a channel to such a server. */
export interface Channel {
  send(message: Request): void;
  onMessage(listener: (message: unknown, handle: unknown) => void): void;
}

/** The other side of `serveMachine`. */
export function machineOutside(channel: Channel): Machine {
  const waiting = new Map<number, (reply: Reply, handle: unknown) => void>();
  let last = 0;
  channel.onMessage((message, handle) => {
    const reply = message as Reply;
    waiting.get(reply.id)?.(reply, handle);
    waiting.delete(reply.id);
  });
  const ask = <Handle>(what: Request["what"], port: number, host: string) =>
    new Promise<Handle>((done, failed) => {
      last += 1;
      waiting.set(last, ({ code, message }, handle) => {
        if (code === undefined) done(handle as Handle);
        else failed(Object.assign(new Error(message), { code }));
      });
      channel.send({ id: last, what, port, host });
    });
  return {
    listen: (port, host) => ask<Server>("listen", port, host),
    connect: (port, host) => ask<Socket>("connect", port, host),
  };
}
